/** Child process: a provider that reads the whole body and answers at once, so that only proxies differ. */
import { createServer } from 'node:http';
import { announce } from './child.ts';

const body = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1,
  model: 'bench',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: JSON.stringify({ facts: ['x'.repeat(800)] }) },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 9000, completion_tokens: 200, total_tokens: 9200 },
});

const server = createServer((incoming, outgoing) => {
  incoming.resume();
  incoming.on('end', () => {
    outgoing.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    outgoing.end(body);
  });
});
announce(server, (port) => ({ url: `http://127.0.0.1:${port}/v1/chat/completions`, headers: {} }));
