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

  // Long work is done in slices of some milliseconds, so that the page can be scrolled meanwhile. False if
  // `goesOn` was false between two of them.
  const inSlices = async (all, work, goesOn = () => true) => {
    let begun = performance.now();
    for (const one of all) {
      work(one);
      if (performance.now() - begun > 10) {
        await new Promise((go) => setTimeout(go));
        if (!goesOn()) return false;
        begun = performance.now();
      }
    }
    return true;
  };

  // What is below a first line is shown or hidden by a click on it, or by a key.
  const setOpen = (fold, open) => {
    if (fold.tagName === 'DETAILS') { fold.open = open; return; }
    fold.classList.toggle('open', open);
    const sum = fold.firstElementChild;
    if (sum.hasAttribute('role')) sum.setAttribute('aria-expanded', fold.classList.contains('open'));
  };
  const press = (event) => {
    const sum = event.target.closest && event.target.closest('.sum');
    if (!sum || (event.type === 'keydown' && event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    setOpen(sum.parentElement);
  };
  addEventListener('click', press);
  addEventListener('keydown', press);

  // When a part of the page comes near the window, its first lines become buttons, its entries get theirs, and its code
  // gets colours.
  const prepare = (part) => {
    for (const sum of all('.sum', part)) {
      sum.setAttribute('role', 'button');
      sum.setAttribute('aria-expanded', sum.parentElement.classList.contains('open'));
      sum.tabIndex = 0;
    }
    for (const head of all('article > header', part).filter((one) => !one.querySelector('.copy'))) {
      make('button', 'copy', head, {type: 'button', className: 'copy'});
    }
    if (typeof hljs === 'undefined') return;
    inSlices(all('pre > code[class^="language-"]', part), (code) => {
      const name = code.classList[0].slice(9);
      if (!code.dataset.highlighted && code.textContent.length < 30000 && hljs.getLanguage(name)) hljs.highlightElement(code);
    });
  };
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      near.unobserve(entry.target);
      prepare(entry.target);
    }
  }, {rootMargin: '1200px'});
  const nearParts = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      nearParts.unobserve(entry.target);
      all('.part', entry.target).forEach((part) => near.observe(part));
    }
  }, {rootMargin: '2400px'});
  all('.parts').forEach((parts) => nearParts.observe(parts));
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
  if (fold) {
    fold.addEventListener('click', () => {
      const open = one('main .fold:not(.open), main details:not([open])') !== null;
      inSlices(all('main .fold, main details'), (element) => setOpen(element, open));
    });
  }
  // The prompts beside the text; that which is read is marked, unless there are many.
  const many = 1000;
  const side = one('.side');
  const prompts = side ? all('main > .parts > .part > article.user') : [];
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
  addEventListener('beforeprint', () => all('main details').forEach((element) => { element.open = true; }));
  const openTarget = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let up = target && target.parentElement; up; up = up.parentElement) {
      if (up.tagName === 'DETAILS') up.open = true;
    }
  };
  addEventListener('hashchange', openTarget);
  openTarget();

  // What is sought stays; the rest is hidden.
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
    const isMine = () => mine === searching;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.filter((choice) => choice.value);
    const every = items();
    const fitting = [];
    let shown = 0;
    const look = (item) => {
      const fits = words.every((word) => textOf(item).includes(word)) &&
        chosen.every((choice) => valuesOf(item, choice.dataset.of).includes(choice.value));
      item.classList.toggle('hidden', !fits);
      shown += fits ? 1 : 0;
      if (fits && fitting.length < 500) fitting.push(item);
    };
    const lookAgain = (group) => {
      group.classList.toggle('hidden', !group.querySelector('[data-item]:not(.hidden)'));
    };
    if (!await inSlices(every, look, isMine) || !await inSlices(all('[data-group]'), lookAgain, isMine)) return;
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
