'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = id => document.getElementById(id);
  const PAGE = 100;
  let shown = PAGE, game = null, boards = [], marks = [], ply = 0, turned = false;

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

  const square = name => (name.charCodeAt(0) - 97) + 8 * (name.charCodeAt(1) - 49);

  const setup = fen => {
    const board = Array(64).fill('');
    fen.split(' ')[0].split('/').forEach((rank, row) => {
      let file = 0;
      for (const c of rank) { if (c >= '1' && c <= '8') file += +c; else board[8 * (7 - row) + file++] = c; }
    });
    return board;
  };

  const isWhite = piece => piece !== '' && piece === piece.toUpperCase();

  // Plays a move that the referee has checked.
  const play = (before, move) => {
    const board = before.slice(), from = square(move), to = square(move.slice(2));
    const piece = board[from], kind = piece.toLowerCase(), rank = from - from % 8;
    const ownRook = board[to].toLowerCase() === 'r' && isWhite(board[to]) === isWhite(piece);
    if (kind === 'k' && (ownRook || Math.abs(from % 8 - to % 8) > 1)) {
      const short = to > from, corner = ownRook ? to : rank + (short ? 7 : 0), rook = board[corner];
      board[from] = board[corner] = '';
      board[rank + (short ? 6 : 2)] = piece;
      board[rank + (short ? 5 : 3)] = rook;
      return board;
    }
    if (kind === 'p' && from % 8 !== to % 8 && board[to] === '') board[rank + to % 8] = '';
    board[from] = '';
    board[to] = move.length > 4 ? (isWhite(piece) ? move[4].toUpperCase() : move[4]) : piece;
    return board;
  };

  const draw = () => {
    const at = index => { const file = index % 8, row = 7 - (index - file) / 8; return turned ? [7 - file, 7 - row] : [file, row]; };
    let out = "<rect width='360' height='360' class='light'/><path class='dark' d='";
    for (let i = 0; i < 64; i++) if ((i % 8 + (i - i % 8) / 8) % 2 === 0) { const [x, y] = at(i); out += `M${45 * x} ${45 * y}h45v45h-45z`; }
    out += "'/>";
    for (const i of marks[ply]) { const [x, y] = at(i); out += `<rect class='mark' x='${45 * x}' y='${45 * y}' width='45' height='45'/>`; }
    for (let i = 0; i < 8; i++) {
      const k = turned ? 7 - i : i;
      out += `<text x='${45 * i + 37}' y='357'>${'abcdefgh'[k]}</text><text x='2' y='${45 * i + 11}'>${8 - k}</text>`;
    }
    boards[ply].forEach((piece, i) => {
      if (piece === '') return;
      const [x, y] = at(i);
      out += `<use href='#${piece.toLowerCase()}' class='${isWhite(piece) ? 'w' : 'b'}' x='${45 * x}' y='${45 * y}' width='45' height='45'/>`;
    });
    byId('board').innerHTML = out;
    const scores = game.scores.split(' ');
    byId('score').textContent = ply > 0 && scores[ply - 1] !== '-' ? scores[ply - 1] + " (White's view, by the mover)" : '';
    byId('moves').querySelectorAll('span').forEach((span, i) => {
      span.classList.toggle('now', i === ply - 1);
      if (i === ply - 1) {
        const box = byId('moves');
        if (span.offsetTop < box.scrollTop + box.offsetTop || span.offsetTop > box.scrollTop + box.offsetTop + box.clientHeight - 30)
          box.scrollTop = span.offsetTop - box.offsetTop - 40;
      }
    });
  };

  const go = to => { if (game) { ply = Math.max(0, Math.min(boards.length - 1, to)); draw(); } };

  const open = chosenGame => {
    game = chosenGame;
    boards = [setup(game.fen)];
    marks = [[]];
    for (const move of game.uci === '' ? [] : game.uci.split(' ')) {
      boards.push(play(boards[boards.length - 1], move));
      marks.push([square(move), square(move.slice(2))]);
    }
    byId('viewer').hidden = false;
    byId('title').textContent = data.agents[game.white] + ' – ' + data.agents[game.black] + ' ' + game.result;
    byId('ending').textContent = 'Round ' + game.round + ', ' + game.ending + '. From ' + game.fen;
    const fields = game.fen.split(' ');
    let number = +fields[5] || 1, white = fields[1] !== 'b';
    const nodes = [];
    (game.san === '' ? [] : game.san.split(' ')).forEach((san, i) => {
      if (white || i === 0) nodes.push(document.createTextNode(number + (white ? '. ' : '… ')));
      const span = document.createElement('span');
      span.textContent = san;
      span.onclick = () => go(i + 1);
      nodes.push(span, document.createTextNode(' '));
      if (!white) number++;
      white = !white;
    });
    byId('moves').replaceChildren(...nodes);
    go(0);
    list();
  };

  const filter = () => { shown = PAGE; list(); };
  for (const id of ['one', 'two', 'outcome']) byId(id).onchange = filter;
  byId('more').onclick = () => { shown += PAGE; list(); };
  byId('first').onclick = () => go(0);
  byId('back').onclick = () => go(ply - 1);
  byId('next').onclick = () => go(ply + 1);
  byId('last').onclick = () => go(boards.length - 1);
  byId('turn').onclick = () => { turned = !turned; if (game) draw(); };
  document.addEventListener('keydown', event => {
    if (event.target.tagName === 'SELECT' || event.ctrlKey || event.altKey || event.metaKey) return;
    const keys = { ArrowLeft: () => go(ply - 1), ArrowRight: () => go(ply + 1), Home: () => go(0), End: () => go(boards.length - 1), f: byId('turn').onclick };
    if (game && keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
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
