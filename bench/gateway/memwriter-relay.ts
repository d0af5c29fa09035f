/** Child process: our gateway with one relay slot that recognises and checks every call, as in an evaluation. */
import type { Stage } from '../../src/core/stage.ts';
import { createGateway } from '../../src/gateway/gateway.ts';
import { createHashEmbedder } from '../../src/llm/hash-embedder.ts';
import { tell, upstreamArgument } from './child.ts';

const stage: Stage = {
  name: 'extract',
  recognise: ([first]) => first?.content.startsWith('extract') === true,
  read: () => ({ newMessages: [], existingMemories: [] }),
  view: (messages) => messages,
  check: (answer) => {
    JSON.parse(answer);
    return { kind: 'well-formed', operations: [] };
  },
  compose: (texts) => JSON.stringify(texts),
};

const gateway = await createGateway({ embedder: createHashEmbedder() });
const baseUrl = upstreamArgument().replace('/chat/completions', '');
const slot = gateway.openSlot({
  writer: {
    kind: 'relay',
    endpoint: { baseUrl, apiKey: 'upstream', model: 'bench' },
    timeoutMs: 60_000,
  },
  stages: [stage],
  seed: 'bench',
  onCall: (call) => {
    if (call.outcome.kind !== 'ok') throw new Error(JSON.stringify(call.outcome));
  },
});
tell({
  url: `${slot.model.baseUrl}/chat/completions`,
  headers: { authorization: `Bearer ${slot.model.apiKey}` },
});
