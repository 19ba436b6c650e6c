'use strict';
// A board to click through a game. `Viewer(root, shown)` fills the elements of viewer.html below `root`; `shown` is
// called after each step with the ply and whether the board is turned. A game has `fen`, `uci` and `san` (moves
// separated by blanks) and optionally, one per move, `glyphs` ([class, sign] or null) and `arrows` (a better move in
// UCI, or an empty string).
const Viewer = (() => {
  const square = name => (name.charCodeAt(0) - 97) + 8 * (name.charCodeAt(1) - 49);
  const isWhite = piece => piece !== '' && piece === piece.toUpperCase();
  const words = text => text === '' ? [] : text.split(' ');

  const setup = fen => {
    const board = Array(64).fill('');
    fen.split(' ')[0].split('/').forEach((rank, row) => {
      let file = 0;
      for (const c of rank) { if (c >= '1' && c <= '8') file += +c; else board[8 * (7 - row) + file++] = c; }
    });
    return board;
  };

  const NULL_MOVE = '0000';

  // Moves are legal already. Castling is the king's move by two files, or onto the own rook (Chess960).
  const play = (before, move) => {
    if (move === NULL_MOVE) return before;
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

  // As `draw` in board.rs.
  const arrow = ([x0, y0], [x1, y1]) => {
    const length = Math.hypot(x1 - x0, y1 - y0) || 1, along = (x1 - x0) / length, across = (y1 - y0) / length;
    const at = (forward, aside) => `${x1 + along * forward - across * aside} ${y1 + across * forward + along * aside}`;
    return `<g class='arrow better'><path d='M${x0} ${y0}L${at(-15, 0)}'/>` +
      `<path class='head' d='M${x1} ${y1}L${at(-17, 9)}L${at(-17, -9)}z'/></g>`;
  };

  // Only pieces, squares and numbers enter the markup.
  const picture = (board, marked, better, turned) => {
    const at = index => { const file = index % 8, row = 7 - (index - file) / 8; return turned ? [7 - file, 7 - row] : [file, row]; };
    let out = "<rect width='360' height='360' class='light'/><path class='dark' d='";
    for (let i = 0; i < 64; i++) if ((i % 8 + (i - i % 8) / 8) % 2 === 0) { const [x, y] = at(i); out += `M${45 * x} ${45 * y}h45v45h-45z`; }
    out += "'/>";
    for (const i of marked) { const [x, y] = at(i); out += `<rect class='mark' x='${45 * x}' y='${45 * y}' width='45' height='45'/>`; }
    for (let i = 0; i < 8; i++) {
      const k = turned ? 7 - i : i;
      out += `<text x='${45 * i + 37}' y='357'>${'abcdefgh'[k]}</text><text x='2' y='${45 * i + 11}'>${8 - k}</text>`;
    }
    board.forEach((piece, i) => {
      if (!'pnbrqk'.includes(piece.toLowerCase()) || piece === '') return;
      const [x, y] = at(i);
      out += `<use href='#${piece.toLowerCase()}' class='${isWhite(piece) ? 'w' : 'b'}' x='${45 * x}' y='${45 * y}' width='45' height='45'/>`;
    });
    const middle = name => at(square(name)).map(cell => 45 * cell + 22.5);
    return better === '' ? out : out + arrow(middle(better), middle(better.slice(2)));
  };

  // Keys move the viewer that was used last, or else the first one in sight.
  const viewers = [];
  let used = null;
  const inSight = viewer => {
    const box = viewer.root.getBoundingClientRect();
    return box.height > 0 && box.bottom > 0 && box.top < window.innerHeight;
  };
  document.addEventListener('keydown', event => {
    if (event.target.tagName === 'SELECT' || event.ctrlKey || event.altKey || event.metaKey) return;
    const viewer = used && inSight(used) ? used : viewers.find(inSight);
    const act = viewer && viewer.keys[event.key];
    if (act) { act(); event.preventDefault(); }
  });

  return (root, shown) => {
    const find = name => root.querySelector(name), list = find('.moves-list');
    let game = null, moves = [], boards = [], spans = [], ply = 0, turned = false;

    const draw = () => {
      while (boards.length <= ply) boards.push(play(boards[boards.length - 1], moves[boards.length - 1]));
      const last = ply > 0 ? moves[ply - 1] : NULL_MOVE;
      const marked = last === NULL_MOVE ? [] : [square(last), square(last.slice(2))];
      const better = ply > 0 && game.arrows ? game.arrows[ply - 1] : '';
      find('.board').innerHTML = picture(boards[ply], marked, better, turned);
      spans.forEach((span, i) => span.classList.toggle('now', i === ply - 1));
      const now = spans[ply - 1], top = now ? now.offsetTop - list.offsetTop : 0;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 30) list.scrollTop = top - 40;
      shown(ply, turned);
    };
    const go = to => { if (game) { used = viewer; ply = Math.max(0, Math.min(moves.length, to)); draw(); } };
    const turn = () => { if (game) { used = viewer; turned = !turned; draw(); } };

    const open = chosen => {
      game = chosen;
      moves = words(game.uci);
      boards = [setup(game.fen)];
      ply = 0;
      const fields = game.fen.split(' '), nodes = [];
      let number = +fields[5] || 1, white = fields[1] !== 'b';
      spans = words(game.san).map((san, i) => {
        if (white || i === 0) nodes.push(document.createTextNode(number + (white ? '. ' : '… ')));
        const span = document.createElement('span'), glyph = game.glyphs && game.glyphs[i];
        span.textContent = glyph ? san + glyph[1] : san;
        if (glyph) span.className = 'glyph ' + glyph[0];
        span.onclick = () => go(i + 1);
        nodes.push(span, document.createTextNode(' '));
        if (!white) number++;
        white = !white;
        return span;
      });
      list.replaceChildren(...nodes);
      root.hidden = false;
      draw();
    };

    const steps = { first: () => go(0), back: () => go(ply - 1), next: () => go(ply + 1), last: () => go(moves.length), turn };
    for (const button of root.querySelectorAll('.controls button')) button.onclick = steps[button.dataset.go];
    const keys = { Home: steps.first, ArrowLeft: steps.back, ArrowRight: steps.next, End: steps.last, f: turn };
    const viewer = { root, keys, open, go };
    viewers.push(viewer);
    return viewer;
  };
})();
