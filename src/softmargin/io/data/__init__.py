"""Data files and scaling ranges."""
