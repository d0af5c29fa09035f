"""Not a bridge: what it prints first is no frame."""
print("Welcome to BrokenFramework 1.0")
