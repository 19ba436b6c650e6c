(() => {
  const data = [...document.querySelectorAll('[id^=replays-]')];
  for (const game of data.flatMap(games => JSON.parse(games.textContent))) {
    const section = document.getElementById('g' + game.number), find = name => section.querySelector(name);
    const root = find('.viewer'), plot = find('.plot'), cursor = find('.cursor'), share = find('.white-share');
    const plies = game.glyphs.length;

    const viewer = Viewer(root, (ply, turned) => {
      const win = game.wins[ply];
      share.hidden = win === null;
      share.classList.toggle('turned', turned);
      share.firstChild.style.height = (win || 0) / 10 + '%';
      cursor.hidden = false;
      cursor.style.left = 100 * ply / Math.max(1, plies) + '%';
      find('.score').textContent = win === null ? '' : `${game.scores[ply]} · White\u00a0${Math.round(win / 10)}\u00a0%`;
      find('.note').textContent = ply > 0 ? game.notes[ply - 1] : '';
    });
    viewer.open(game);

    plot.onclick = event => {
      const box = plot.getBoundingClientRect();
      viewer.go(Math.round(plies * (event.clientX - box.left) / box.width));
    };
    for (const link of section.querySelectorAll('a[data-ply]')) {
      link.onclick = event => {
        event.preventDefault();
        viewer.go(+link.dataset.ply);
        root.scrollIntoView({ block: 'nearest' });
      };
    }
  }
})();
