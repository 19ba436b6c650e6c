(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const PAGE = 100;
  let shown = PAGE, game = null;
  const find = name => byId('viewer').querySelector(name);

  const option = (value, text) => { const o = document.createElement('option'); o.value = value; o.textContent = text; return o; };
  for (const id of ['one', 'two']) {
    byId(id).append(option('', 'any'), ...data.agents.map((name, i) => option(i, name)));
  }

  // The games of the first agent, of both, or all; results as the first agent sees them.
  const chosen = () => {
    const one = byId('one').value, two = byId('two').value, outcome = byId('outcome').value;
    return data.games.filter(g => {
      const has = a => a === '' || g.white === +a || g.black === +a;
      if (!has(one) || !has(two) || (one !== '' && one === two)) return false;
      if (outcome === '') return true;
      if (outcome === 'drawn') return g.result === '½-½';
      const white = one === '' ? true : g.white === +one;
      return g.result === ((outcome === 'won') === white ? '1-0' : '0-1');
    });
  };

  const list = () => {
    const games = chosen();
    byId('count').textContent = games.length + (games.length === 1 ? ' game' : ' games');
    byId('more').hidden = games.length <= shown;
    byId('list').replaceChildren(...games.slice(0, shown).map(g => {
      const row = document.createElement('tr');
      const words = [g.round, data.agents[g.white] + ' – ' + data.agents[g.black], g.result, g.ending, Math.ceil(g.uci.split(' ').length / 2)];
      for (const word of words) { const cell = document.createElement('td'); cell.textContent = word; row.append(cell); }
      if (g === game) row.className = 'chosen';
      row.onclick = () => open(g);
      return row;
    }));
  };

  const viewer = Viewer(byId('viewer'), ply => {
    const score = game.scores.split(' ')[ply - 1] || '-';
    find('.score').textContent = score === '-' ? '' : score + " (White's view, by the mover)";
  });

  const open = chosenGame => {
    game = chosenGame;
    byId('title').textContent = data.agents[game.white] + ' – ' + data.agents[game.black] + ' ' + game.result;
    find('.note').textContent = 'Round ' + game.round + ', ' + game.ending + '. From ' + game.fen;
    viewer.open(game);
    viewer.go(0);
    list();
  };

  const filter = () => { shown = PAGE; list(); };
  for (const id of ['one', 'two', 'outcome']) byId(id).onchange = filter;
  byId('more').onclick = () => { shown += PAGE; list(); };
  for (const button of document.querySelectorAll('.cross button')) {
    button.onclick = () => {
      byId('one').value = button.dataset.a;
      byId('two').value = button.dataset.b;
      byId('outcome').value = '';
      filter();
      byId('games').scrollIntoView();
    };
  }
  list();
})();
