// Learn from mistakes: before each `?` and `??` of a side the reader tries the better move. `game.tries` has, by mistake,
// the ply, the legal moves in UCI, and the moves that the search knows with their expected score, the better one first.
const Learn = (root, game, viewer) => {
  const find = name => root.querySelector(name), input = find('input'), sans = game.san.split(' ');
  let tasks = [], at = 0, solved = false;

  const isCastling = (board, move) => {
    const from = viewer.square(move), to = viewer.square(move.slice(2)), [king, other] = [board[from], board[to]];
    return king.toLowerCase() === 'k' && (Math.abs(from % 8 - to % 8) > 1 || other === (king === 'K' ? 'R' : 'r'));
  };
  // Standard notation without signs of check.
  const san = (board, move, legal) => {
    const from = viewer.square(move), to = viewer.square(move.slice(2)), kind = board[from].toUpperCase();
    if (isCastling(board, move)) return to > from ? 'O-O' : 'O-O-O';
    const takes = board[to] !== '' || (kind === 'P' && from % 8 !== to % 8) ? 'x' : '';
    if (kind === 'P') return (takes && move[0]) + takes + move.slice(2, 4) + (move[4] ? '=' + move[4].toUpperCase() : '');
    const rivals = legal.filter(other => other !== move && other.slice(2) === move.slice(2) && board[viewer.square(other)] === board[from]);
    const own = rivals.length === 0 ? '' : rivals.every(other => other[0] !== move[0]) ? move[0] :
      rivals.every(other => other[1] !== move[1]) ? move[1] : move.slice(0, 2);
    return kind + own + takes + move.slice(2, 4);
  };
  const plain = text => text.replace(/0/g, 'O').replace(/[-+#!?x=\s]/g, '');

  const task = () => {
    const [ply, legal, known] = tasks[at];
    return { ply, legal: legal.split(' '), known: known.map(entry => entry.split(' ')) };
  };
  const tell = text => { find('.verdict').textContent = text; };
  const best = () => game.lines.find(line => line.at === task().ply && line.name === 'Better');

  const solve = text => {
    solved = true;
    root.classList.remove('hides');
    tell(text);
    viewer.follow(best(), 1);
    find('[data-do=next]').focus();
  };
  const attempt = move => {
    if (solved) return;
    const { ply, legal, known } = task(), name = san(viewer.board(), move, legal);
    const points = known.findIndex(([other]) => other === move), top = known[0][1];
    if (points === 0) return solve(`Right: ${name}, with an expected score of ${top}\u00a0%.`);
    if (points > 0 && top - known[points][1] < 5) return solve(`Also good: ${name}, ${known[points][1]}\u00a0%. The search prefers the line above, ${top}\u00a0%.`);
    const why = move === game.uci.split(' ')[ply] ? 'was played in the game' :
      points > 0 ? `is not it: ${known[points][1]}\u00a0%, and another has ${top}\u00a0%` : 'is not it';
    ask(`${name} ${why}. Try again.`);
  };

  // Two clicks make a move; a promotion by clicks is to a queen.
  const ask = (text, from) => {
    const { legal } = task();
    const starts = index => legal.filter(move => viewer.square(move) === index);
    const targets = from === undefined ? [] : starts(from);
    tell(text);
    viewer.show({
      picked: from === undefined ? [] : [from],
      target: targets.map(move => viewer.square(move.slice(2))),
      asks: index => {
        const made = targets.filter(move => viewer.square(move.slice(2)) === index);
        if (made.length > 0) return attempt(made.find(move => move[4] === 'q') || made[0]);
        ask(text, starts(index).length > 0 ? index : undefined);
      },
    });
  };

  const begin = () => {
    const { ply } = task(), side = viewer.number(ply).endsWith('.') ? 'White' : 'Black';
    solved = false;
    root.classList.add('hides');
    input.value = '';
    viewer.go(ply);
    viewer.turn(side === 'Black');
    find('.task').textContent = `${at + 1} of ${tasks.length}: ${viewer.number(ply)} ${sans[ply]}${game.glyphs[ply][1]} was played. ` +
      `Find a better move for ${side}, on the board or by its name.`;
    ask('');
  };
  const stop = () => {
    root.classList.remove('hides');
    find('.asking').hidden = true;
    find('.starts').hidden = false;
    viewer.go(task().ply + 1);
  };
  const acts = {
    show: () => solve(`The better move has ${task().known[0][1]}\u00a0%.`),
    next: () => { if (at + 1 < tasks.length) { at++; begin(); } else stop(); },
    stop,
  };
  for (const button of root.querySelectorAll('[data-do]')) button.onclick = acts[button.dataset.do];
  find('form').onsubmit = event => {
    event.preventDefault();
    if (solved) return;
    const { ply, legal } = task(), typed = input.value.trim();
    viewer.go(ply);
    const move = legal.find(move => move === typed.toLowerCase() || plain(san(viewer.board(), move, legal)) === plain(typed));
    input.value = '';
    if (move) attempt(move); else ask(`${typed} is not a legal move here.`);
  };

  for (const [name, parity] of [['White', 0], ['Black', 1]]) {
    const own = game.tries.filter(([ply]) => viewer.number(ply).endsWith('.') === (parity === 0));
    if (own.length === 0) continue;
    const button = document.createElement('button');
    button.textContent = `Learn from ${name}’s mistakes (${own.length})`;
    button.onclick = () => {
      [tasks, at] = [own, 0];
      find('.starts').hidden = true;
      find('.asking').hidden = false;
      begin();
      input.focus({ preventScroll: true });
    };
    find('.starts').append(button, ' ');
  }
};
