/** An external JSON service on this machine, as used for webhooks. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

export interface JsonService {
  readonly url: string
  /** Content of a kubeconfig for the service. */
  readonly kubeconfig: string
}

export async function startJsonService(
  t: Pick<TestContext, 'after'>,
  answer: (body: unknown) => object | Promise<object>,
): Promise<JsonService> {
  const reply = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const content = JSON.stringify(await answer(await json(request)))
    response.setHeader('content-type', 'application/json')
    response.end(content)
  }
  const server = createServer((request, response) => void reply(request, response))
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const kubeconfig = JSON.stringify({
    'clusters': [{ name: 'a', cluster: { server: url } }],
    'contexts': [{ name: 'a', context: { cluster: 'a' } }],
    'current-context': 'a',
  })
  return { url, kubeconfig }
}
