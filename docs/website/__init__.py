"""What the documentation site is made of beside its pages: each module makes one kind of page or checks them."""
