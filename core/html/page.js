'use strict';
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  root.classList.add('has-script');

  // Colours the code of a part of the page when that comes near the window.
  if (typeof hljs !== 'undefined') {
    const colour = (code) => {
      const name = [...code.classList].find((word) => word.startsWith('language-'));
      if (name && code.textContent.length < 100000 && hljs.getLanguage(name.slice(9))) hljs.highlightElement(code);
    };
    const near = new IntersectionObserver((entries) => {
      for (const entry of entries.filter((one) => one.isIntersecting)) {
        near.unobserve(entry.target);
        all('pre > code[class^="language-"]', entry.target).forEach(colour);
      }
    }, {rootMargin: '600px'});
    all('.part').forEach((part) => near.observe(part));
  }

  const dark = matchMedia('(prefers-color-scheme: dark)');
  const turn = one('#theme');
  if (turn) {
    turn.addEventListener('click', () => {
      const is = root.dataset.theme || (dark.matches ? 'dark' : 'light');
      root.dataset.theme = is === 'dark' ? 'light' : 'dark';
    });
  }
  const fold = one('#fold');
  const details = () => all('main details');
  if (fold) {
    fold.addEventListener('click', () => {
      const open = details().some((element) => !element.open);
      details().forEach((element) => { element.open = open; });
    });
  }
  // Folded text is opened for a print and for a link into it.
  addEventListener('beforeprint', () => details().forEach((element) => { element.open = true; }));
  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let up = target && target.parentElement; up; up = up.parentElement) {
      if (up.tagName === 'DETAILS') up.open = true;
    }
  };
  addEventListener('hashchange', openTarget);
  openTarget();

  // What is sought stays; the rest is hidden. A long page is searched in slices of some milliseconds.
  const find = one('#find');
  const count = one('#found');
  const items = () => all('[data-item]');
  const texts = new Map();
  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, (item.dataset.item + ' ' + item.textContent).toLowerCase());
    return texts.get(item);
  };
  let searching = 0;
  const search = async () => {
    const mine = ++searching;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const every = items();
    let shown = 0;
    let begun = performance.now();
    for (const item of every) {
      const fits = words.every((word) => textOf(item).includes(word));
      item.classList.toggle('hidden', !fits);
      shown += fits ? 1 : 0;
      if (performance.now() - begun > 12) {
        await new Promise((go) => setTimeout(go));
        if (mine !== searching) return;
        begun = performance.now();
      }
    }
    for (const group of all('[data-group]')) {
      group.classList.toggle('hidden', !group.querySelector('[data-item]:not(.hidden)'));
    }
    count.textContent = words.length ? shown + ' of ' + every.length : '';
  };
  let waiting = 0;
  if (find) {
    find.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });
  }

  // j, k: the next and the previous message; /: find; f: fold; Escape: leave the search.
  const step = (by) => {
    const articles = items().filter((item) => item.offsetParent !== null);
    const at = articles.findIndex((item) => item.getBoundingClientRect().bottom > 60);
    const now = articles.includes(document.activeElement) ? articles.indexOf(document.activeElement) : at - (by > 0 ? 1 : 0);
    const next = articles[Math.min(Math.max(now + by, 0), articles.length - 1)];
    if (next) { next.tabIndex = -1; next.focus({preventScroll: true}); next.scrollIntoView(); }
  };
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && find) { find.value = ''; search(); find.blur(); return; }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === '/' && find) { event.preventDefault(); find.focus(); }
    if (event.key === 'j') step(1);
    if (event.key === 'k') step(-1);
    if (event.key === 'f' && fold) fold.click();
  });
})();
