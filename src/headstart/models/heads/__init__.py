"""What a trunk's hidden vectors are turned into: one file per head."""
