'use strict';
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector) => document.querySelector(selector);
  root.classList.add('has-script');

  const make = (tag, text, into, more) => {
    const element = Object.assign(document.createElement(tag), {textContent: text}, more);
    into.append(element);
    return element;
  };

  // Colours the code of a part of the page, and gives its entries their buttons, when that comes near the window.
  const colour = (code) => {
    const name = [...code.classList].find((word) => word.startsWith('language-'));
    if (name && !code.dataset.highlighted && code.textContent.length < 100000 && hljs.getLanguage(name.slice(9))) hljs.highlightElement(code);
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      near.unobserve(entry.target);
      if (typeof hljs !== 'undefined') all('pre > code[class^="language-"]', entry.target).forEach(colour);
      for (const head of all('article > header', entry.target).filter((one) => !one.querySelector('.copy'))) {
        make('button', 'copy', head, {type: 'button', className: 'copy'});
      }
    }
  }, {rootMargin: '600px'});
  all('.part').forEach((part) => near.observe(part));
  addEventListener('click', async (event) => {
    const button = event.target.closest('.copy');
    if (!button) return;
    const said = [...button.closest('article').children].filter((part) => part.tagName !== 'HEADER');
    const done = await navigator.clipboard.writeText(said.map((part) => part.innerText).join('\n\n'))
      .then(() => 'copied', () => 'not allowed');
    button.textContent = done;
    setTimeout(() => { button.textContent = 'copy'; }, 1500);
  });

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
  // The prompts beside the text; that which is read is marked, unless there are many.
  const many = 1000;
  const side = one('.side');
  const prompts = side ? all('main > .part > article.user') : [];
  if (prompts.length > 1) {
    const outline = make('details', '', make('nav', '', side, {className: 'outline', ariaLabel: 'Prompts'}));
    make('summary', prompts.length + ' prompts', outline);
    const links = new Map();
    const build = () => {
      const list = make('ol', '', outline);
      for (const prompt of prompts) {
        const words = [...prompt.children].slice(1).map((part) => part.textContent).join(' ').trim().slice(0, 200);
        links.set(prompt, make('a', words || prompt.id, make('li', '', list), {href: '#' + prompt.id}));
      }
    };
    outline.addEventListener('toggle', () => { if (!links.size) build(); });
    let now = null;
    const seen = new IntersectionObserver((entries) => {
      const entry = entries.filter((one) => one.isIntersecting).pop();
      if (!entry || !links.size) return;
      if (now) now.removeAttribute('aria-current');
      now = links.get(entry.target);
      now.setAttribute('aria-current', 'true');
    });
    if (prompts.length <= many) {
      build();
      outline.open = matchMedia('(min-width: 75rem)').matches;
      prompts.forEach((prompt) => seen.observe(prompt));
    }
    document.body.classList.add('beside');
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
  const choices = all('.bar select');
  const count = one('#found');
  const items = () => all('[data-item]');
  const texts = new Map();
  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, (item.dataset.item + ' ' + item.textContent).toLowerCase());
    return texts.get(item);
  };
  let searching = 0;
  // Marks the words in what is shown, without changing the page.
  const mark = (words, within) => {
    if (!CSS.highlights) return;
    CSS.highlights.delete('found');
    const ranges = [];
    for (const item of words.length ? within : []) {
      const texts = document.createTreeWalker(item, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text && ranges.length < 2000; text = texts.nextNode()) {
        const lower = text.data.toLowerCase();
        if (lower.length !== text.data.length) continue;
        for (const word of words) {
          for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + word.length)) {
            const range = new Range();
            range.setStart(text, at);
            range.setEnd(text, at + word.length);
            ranges.push(range);
          }
        }
      }
    }
    if (ranges.length) CSS.highlights.set('found', new Highlight(...ranges));
  };
  const search = async () => {
    const mine = ++searching;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter((choice) => choice.value);
    const every = items();
    const fitting = [];
    let shown = 0;
    let begun = performance.now();
    for (const item of every) {
      const fits = words.every((word) => textOf(item).includes(word)) &&
        chosen.every((choice) => valuesOf(item, choice.dataset.of).includes(choice.value));
      item.classList.toggle('hidden', !fits);
      shown += fits ? 1 : 0;
      if (fits && fitting.length < 500) fitting.push(item);
      if (performance.now() - begun > 12) {
        await new Promise((go) => setTimeout(go));
        if (mine !== searching) return;
        begun = performance.now();
      }
    }
    for (const group of all('[data-group]')) {
      group.classList.toggle('hidden', !group.querySelector('[data-item]:not(.hidden)'));
    }
    count.textContent = words.length || chosen.length ? shown + ' of ' + every.length : '';
    mark(words, fitting);
    if (words.length) {
      for (const inside of all('details.started')) {
        inside.open = inside.open || Boolean(inside.querySelector('[data-item]:not(.hidden)'));
      }
    }
  };
  // What the rows of a table say of their sessions: project, agent, tags, day.
  const valuesOf = (item, of) => {
    if (of === 'project') return [item.dataset.item];
    const cell = item.querySelector('.' + of);
    return cell ? (of === 'day' ? [cell.textContent.slice(0, 10)] : cell.textContent.split(', ')) : [];
  };
  for (const choice of choices) {
    const values = new Set(items().flatMap((item) => valuesOf(item, choice.dataset.of)).filter(Boolean));
    const sorted = [...values].sort();
    for (const value of choice.dataset.of === 'day' ? sorted.reverse() : sorted) make('option', value, choice, {value});
    choice.addEventListener('change', search);
  }
  let waiting = 0;
  if (find) {
    // A link to the page with #find=words finds them.
    const wanted = () => {
      const words = new URLSearchParams(location.hash.slice(1)).get('find');
      if (words) { find.value = words; search(); }
    };
    find.addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });
    find.addEventListener('change', () => {
      history.replaceState(null, '', find.value ? '#' + new URLSearchParams({find: find.value}) : location.pathname);
    });
    addEventListener('hashchange', wanted);
    wanted();
  }

  // j, k: the next and the previous entry; n, p: prompt; /: find; f: fold; Escape: leave the search.
  // Asks for the places of few elements: each may have to be laid out for it.
  const step = (by, of) => {
    const articles = items().filter((item) =>
      item.matches(of) && !item.classList.contains('hidden') && !item.closest('details:not([open])'));
    const here = document.activeElement.closest('[data-item]');
    const isAbove = (item) => here ? Boolean(item.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_FOLLOWING)
      : item.getBoundingClientRect().bottom < 60;
    let low = 0;
    for (let high = articles.length; low < high;) {
      const middle = (low + high) >> 1;
      if (isAbove(articles[middle])) low = middle + 1; else high = middle;
    }
    const wanted = by < 0 ? low - 1 : (here && articles[low] === here ? low + 1 : low);
    const next = articles[Math.min(Math.max(wanted, 0), articles.length - 1)];
    if (next) { next.tabIndex = -1; next.focus({preventScroll: true}); next.scrollIntoView(); }
  };
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && find) {
      find.value = '';
      choices.forEach((choice) => { choice.value = ''; });
      search();
      find.blur();
      return;
    }
    if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === '/' && find) { event.preventDefault(); find.focus(); }
    if (event.key === 'j') step(1, '*');
    if (event.key === 'k') step(-1, '*');
    if (event.key === 'n') step(1, '.user');
    if (event.key === 'p') step(-1, '.user');
    if (event.key === 'f' && fold) fold.click();
  });
})();
