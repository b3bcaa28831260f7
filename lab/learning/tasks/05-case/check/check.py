from same import same

assert same("Straße", "STRASSE")
