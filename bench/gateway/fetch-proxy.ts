/** Child process: the least a proxy in plain Node can do, read the body, fetch, send the answer back. */
import { createServer } from 'node:http';
import { announce, upstreamArgument } from './child.ts';

const upstream = upstreamArgument();

const server = createServer(async (incoming, outgoing) => {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  const response = await fetch(upstream, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer upstream' },
    body: Buffer.concat(chunks),
  });
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.writeHead(response.status, {
    'content-type': 'application/json',
    'content-length': body.length,
  });
  outgoing.end(body);
});
announce(server, (port) => ({ url: `http://127.0.0.1:${port}/v1/chat/completions`, headers: {} }));
