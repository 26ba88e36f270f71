/** Arranges graphs beside the page, which stays usable meanwhile. */

import { arranged } from './layout';
import type { Asked, Answered } from './arrange';

onmessage = ({ data }: MessageEvent<Asked>) => {
  const answer: Answered = { id: data.id, layout: arranged(data.nodes, data.lines, data.size, data.room) };
  postMessage(answer);
};
