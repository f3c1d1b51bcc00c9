"""Scripts for maintainers: pictures, notebooks, wheels, and pages that are generated."""
