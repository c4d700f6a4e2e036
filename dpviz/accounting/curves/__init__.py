"""The numbers of each page, apart from their drawing: parameters in, frozen arrays out."""
