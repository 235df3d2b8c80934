// The search box is a dialogue without a name in the theme; screen readers need one.
for (const each of document.querySelectorAll('.md-search[role=dialog]')) each.setAttribute('aria-label', 'Search');
