// What the network sees in the position on the board: `game.sees` has, by position, moves with the network's share, the
// search's share and the expected score in percent, and `played` or `best`; `game.eyes`, if there, the network's distribution (first bar, bars from
// 0 to 35, mean per mille), its mistakes about the legal moves, and its best line on the boards that it predicts.
const Sight = (root, game, viewer) => {
  const body = root.querySelector('div'), node = (name, text, kind) => {
    const made = document.createElement(name);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  let ply = 0;

  const table = rows => {
    const table = node('table', ''), row = (cells, kind) => {
      const line = document.createElement('tr');
      line.append(...cells.map(cell => node(kind, cell)));
      table.append(line);
      return line;
    };
    row(['Move', 'Network', 'Search', 'Expected'], 'th');
    for (const text of rows) {
      const [san, network, search, expected, key] = text.split(' ');
      const line = row([san, ...[network, search, expected].map(share => share === '-' ? '–' : share + '\u00a0%')], 'td');
      if (key) line.firstChild.append(' ', node('span', key, 'soft'));
    }
    return table;
  };

  const shape = ([first, bars, mean]) => {
    let path = `M${first} 35`, before = 0;
    for (const bar of bars) { const level = parseInt(bar, 36); path += `v${before - level}h1`; before = level; }
    const holder = document.createElement('div');
    holder.innerHTML = `<svg class='sees' viewBox='0 0 64 35' preserveAspectRatio='none' role='img'><path class='shape' d='${path}V35z'/>` +
      `<path class='mean' d='M${0.064 * mean} 0v35'/></svg>`;
    holder.firstChild.setAttribute('aria-label', `The network expects ${Math.round(mean / 10)} %`);
    return holder.firstChild;
  };

  // A predicted board is the true one, but for squares that are named with what the network has there.
  const dreams = dreams => {
    const made = [], line = node('p', 'Its best line, on boards that it predicts itself: ', 'line');
    const start = viewer.board();
    for (const dream of dreams) {
      const [name, move, verdict, wrong] = dream.split('|');
      made.push(move);
      const board = wrong && wrong.includes('/') ? viewer.setup(wrong) : made.reduce(viewer.play, start).slice();
      const frame = [];
      if (wrong && !wrong.includes('/')) for (const cell of wrong.split(' ')) { frame.push(viewer.square(cell)); board[frame[frame.length - 1]] = cell.slice(2); }
      const button = node('button', name, verdict ? 'wrong' : '');
      button.title = verdict || 'exactly right';
      button.onclick = () => viewer.show({ board, frame, mark: [viewer.square(move), viewer.square(move.slice(2))] });
      line.append(button, ' ', node('span', verdict || 'right', verdict ? 'wrong' : 'soft'), ' ');
    }
    return line;
  };

  const fill = () => {
    if (!root.open) return;
    const rows = game.sees[ply], eyes = game.eyes && game.eyes[ply], parts = [];
    if (rows) parts.push(table(rows.split('|')));
    if (eyes) {
      const [bars, errors, line] = eyes;
      parts.push(node('p', 'How likely it finds each result, from a loss of the side to move to its win:', 'soft'), shape(bars));
      parts.push(node('p', errors || 'It knows which moves are legal here.', errors ? 'wrong' : 'soft'), dreams(line));
    }
    body.replaceChildren(...(parts.length > 0 ? parts : [node('p', 'Nothing is known of this position.', 'soft')]));
  };
  root.addEventListener('toggle', fill);
  return to => { if (to !== ply || !body.firstChild) { ply = to; fill(); } };
};
