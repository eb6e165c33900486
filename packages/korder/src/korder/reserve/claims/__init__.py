"""Claims: which waiting pod gets which ticket."""
