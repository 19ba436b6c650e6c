(() => {
  const games = new Map();
  for (const data of document.querySelectorAll('[id^=replays-]')) {
    for (const game of JSON.parse(data.textContent)) games.set('g' + game.number, game);
  }

  const start = section => {
    const game = games.get(section.id), find = name => section.querySelector(name);
    const root = find('.viewer'), plot = find('.plot'), cursor = find('.cursor'), share = find('.white-share'), plies = game.glyphs.length;
    find('.record').append(find('.study'));
    const linesAt = ply => game.lines.filter(line => line.at === ply);
    game.arrows = game.glyphs.map((glyph, ply) => {
      const better = glyph && linesAt(ply).find(line => line.name === 'Better');
      return better ? better.uci.slice(0, 5).trim() : '';
    });

    // The lines beside the move that was made last, or beside the one that the line on the board replaces.
    const lines = (ply, followed) => find('.lines').replaceChildren(...linesAt(ply).map(line => {
      const row = document.createElement('p'), button = document.createElement('button'), isOn = followed && followed.line === line;
      row.className = 'line';
      button.textContent = line.name;
      button.className = line.name === 'Better' ? 'key better' : 'key';
      button.onclick = () => viewer.follow(line, 0);
      row.append(button, ' ', ...viewer.written(line, isOn ? followed.made : 0));
      if (line.score) row.append(`(${line.score})`);
      return row;
    }));

    const clock = seconds => {
      const whole = Math.floor(seconds), two = part => String(part).padStart(2, '0');
      return whole >= 3600 ? `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}` : `${Math.floor(whole / 60)}:${two(whole % 60)}`;
    };

    const viewer = Viewer(root, (ply, turned, followed) => {
      const win = game.wins[ply], parts = [];
      share.hidden = win === null;
      share.classList.toggle('turned', turned);
      share.firstChild.style.height = (win || 0) / 10 + '%';
      cursor.hidden = false;
      cursor.style.left = 100 * ply / Math.max(1, plies) + '%';
      if (followed) parts.push(followed.line.name === 'Better' ? 'In the better line' : 'In a variation');
      else if (win !== null) parts.push(game.scores[ply], `White expects ${Math.round(win / 10)}\u00a0%`);
      const left = game.clocks && ply > 0 && !followed ? game.clocks[ply - 1] : null;
      if (left !== null) parts.push(`clock ${clock(left)}`);
      find('.score').textContent = parts.filter(part => part !== '').join(' · ');
      find('.note').textContent = ply > 0 && !followed ? game.notes[ply - 1] : '';
      lines(followed ? followed.line.at : ply - 1, followed);
      if (sight) sight(ply);
    });
    let sight = null;
    viewer.open(game);
    sight = Sight(find('.sight'), game, viewer);
    sight(0);
    Learn(find('.learn'), game, viewer);

    plot.onclick = event => {
      const box = plot.getBoundingClientRect();
      viewer.go(Math.round(plies * (event.clientX - box.left) / box.width));
    };
    for (const link of section.querySelectorAll('a[data-ply]')) {
      link.onclick = event => {
        event.preventDefault();
        const line = link.dataset.line && linesAt(+link.dataset.ply)[+link.dataset.line];
        if (line) viewer.follow(line, 1); else viewer.go(+link.dataset.ply);
        root.scrollIntoView({ block: 'nearest' });
      };
    }
  };

  // A game's board is made when it comes near the window.
  const near = new IntersectionObserver(entries => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) { near.unobserve(target); start(target); }
  }, { rootMargin: '800px' });
  for (const section of document.querySelectorAll('section')) if (games.has(section.id)) near.observe(section);
})();
