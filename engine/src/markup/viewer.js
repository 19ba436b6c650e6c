'use strict';
// A board to click through a game. `Viewer(root, shown)` fills the elements of viewer.html below `root`; `shown` is
// called after each step with the ply, whether the board is turned, and the line that is followed (null in the game).
// A game has `fen`, `uci` and `san` (moves separated by blanks) and optionally, one per move, `glyphs` ([class, sign]
// or null) and `arrows` (a better move in UCI, or an empty string). A line has `at` (the ply that it leaves the game
// at), `uci`, `san`, and `from` (moves that were shown before).
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

  // Only pieces, squares and numbers enter the markup. `marks` has squares by class.
  const picture = (board, marks, better, turned) => {
    const at = index => { const file = index % 8, row = 7 - (index - file) / 8; return turned ? [7 - file, 7 - row] : [file, row]; };
    const each = (name, draw) => (marks[name] || []).map(i => draw(...at(i).map(cell => 45 * cell))).join('');
    const cell = name => each(name, (x, y) => `<rect class='${name}' x='${x}' y='${y}' width='45' height='45'/>`);
    let out = "<use href='#squares'/>" + cell('mark') + cell('picked');
    for (let i = 0; i < 8; i++) {
      const k = turned ? 7 - i : i;
      out += `<text x='${45 * i + 37}' y='357'>${'abcdefgh'[k]}</text><text x='2' y='${45 * i + 11}'>${8 - k}</text>`;
    }
    board.forEach((piece, i) => {
      if (!'pnbrqk'.includes(piece.toLowerCase()) || piece === '') return;
      const [x, y] = at(i);
      out += `<use href='#${piece.toLowerCase()}' class='${isWhite(piece) ? 'w' : 'b'}' x='${45 * x}' y='${45 * y}'/>`;
    });
    out += each('target', (x, y) => `<circle class='target' cx='${x + 22.5}' cy='${y + 22.5}' r='8'/>`);
    out += each('frame', (x, y) => `<rect class='frame' x='${x + 2}' y='${y + 2}' width='41' height='41'/>`);
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
    const own = event.target.closest && event.target.closest('select, input, .scroll');
    if (own || event.ctrlKey || event.altKey || event.metaKey) return;
    const viewer = used && inSight(used) ? used : viewers.find(inSight);
    const act = viewer && viewer.keys[event.key];
    if (act) { act(); event.preventDefault(); }
  });

  // The moves of a game or line as nodes; `count` counts plies from White's first move on.
  const list = (sans, count, decorate) => {
    const nodes = [], spans = [];
    sans.forEach((san, i) => {
      const span = document.createElement('span'), ply = count + i;
      span.textContent = san;
      span.className = 'move';
      decorate(span, i);
      spans.push(span);
      if (ply % 2 === 0 || i === 0) {
        // The number stays with its move.
        const first = document.createElement('span');
        first.className = 'first';
        first.append((1 + (ply - ply % 2) / 2) + (ply % 2 === 0 ? '.' : '…'), span);
        nodes.push(first, ' ');
      } else nodes.push(span, ' ');
    });
    return [nodes, spans];
  };

  return (root, shown) => {
    const find = name => root.querySelector(name), record = find('.moves-list'), picked = find('.board');
    let game = null, moves = [], boards = [], spans = [], ply = 0, turned = false;
    // The line that is followed, with the number of its moves that are made.
    let line = null, made = 0;
    // What another script adds: squares by class, another board, a receiver of clicks on squares.
    let extra = {};

    const main = to => {
      while (boards.length <= to) boards.push(play(boards[boards.length - 1], moves[boards.length - 1]));
      return boards[to];
    };
    const board = () => line ? words(line.uci).slice(0, made).reduce(play, main(line.at)) : main(ply);
    const draw = () => {
      const last = line ? words(line.uci)[made - 1] : ply > 0 ? moves[ply - 1] : NULL_MOVE;
      const mark = !last || last === NULL_MOVE ? [] : [square(last), square(last.slice(2))];
      const better = line || extra.asks || ply === 0 || !game.arrows ? '' : game.arrows[ply - 1];
      picked.innerHTML = picture(extra.board || board(), { mark, ...extra }, better, turned);
      picked.classList.toggle('asks', !!extra.asks);
      const now = spans[ply - 1], sans = words(game.san);
      const after = line ? words(line.san)[made - 1] + ', in a line' : ply > 0 ? number(ply - 1) + ' ' + sans[ply - 1] : 'no move';
      picked.setAttribute('aria-label', 'The board after ' + after);
      find('.said').textContent = after;
      spans.forEach((span, i) => span.classList.toggle('now', !line && i === ply - 1));
      const top = now ? now.offsetTop - record.offsetTop : 0;
      if (top < record.scrollTop || top > record.scrollTop + record.clientHeight - 30) record.scrollTop = top - 40;
      shown(ply, turned, line && { line, made });
    };
    const show = added => { if (game) { used = viewer; extra = added; draw(); } };
    const go = to => { line = null; ply = Math.max(0, Math.min(moves.length, to)); show({}); };
    const follow = (other, to) => {
      line = other; made = Math.max(other.from + 1, Math.min(words(other.uci).length, to)); ply = other.at; show({});
    };
    const turn = to => { turned = to === undefined ? !turned : to; show(extra); };
    const step = by => () => {
      if (!line) go(ply + by);
      else if (made + by > line.from) follow(line, made + by);
      else go(line.at);
    };

    // Plies from White's first move to the game's first one.
    const begins = () => { const fields = game.fen.split(' '); return 2 * ((+fields[5] || 1) - 1) + (fields[1] === 'b' ? 1 : 0); };
    const number = at => { const ply = begins() + at; return 1 + (ply - ply % 2) / 2 + (ply % 2 === 0 ? '.' : '…'); };

    const open = chosen => {
      game = chosen;
      moves = words(game.uci);
      boards = [setup(game.fen)];
      ply = 0;
      line = null;
      extra = {};
      let nodes;
      [nodes, spans] = list(words(game.san), begins(), (span, i) => {
        const glyph = game.glyphs && game.glyphs[i];
        if (glyph) { span.textContent += glyph[1]; span.classList.add('glyph', glyph[0]); }
        span.onclick = () => go(i + 1);
      });
      record.replaceChildren(...nodes);
      root.hidden = false;
      draw();
    };

    // A line's moves as nodes, each of which leads there; of `done` moves the last one is marked.
    const written = (other, done) => list(words(other.san).slice(other.from), begins() + other.at + other.from, (span, i) => {
      span.classList.toggle('now', other.from + i + 1 === done);
      span.onclick = () => follow(other, other.from + i + 1);
    })[0];

    picked.onclick = event => {
      if (!extra.asks) return;
      const box = picked.getBoundingClientRect(), cell = (at, length) => Math.max(0, Math.min(7, Math.floor(8 * at / length)));
      const file = cell(event.clientX - box.left, box.width), row = cell(event.clientY - box.top, box.height);
      extra.asks(turned ? 7 - file + 8 * row : file + 8 * (7 - row));
    };
    const steps = { first: () => go(0), back: step(-1), next: step(1), last: () => line ? follow(line, Infinity) : go(moves.length), turn: () => turn() };
    for (const button of root.querySelectorAll('.controls button')) button.onclick = steps[button.dataset.go];
    const keys = { Home: steps.first, ArrowLeft: steps.back, ArrowRight: steps.next, End: steps.last, f: steps.turn };
    const viewer = { root, keys, open, go, follow, show, turn, written, number, board, square, setup, play };
    viewers.push(viewer);
    return viewer;
  };
})();
