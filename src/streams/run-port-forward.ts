/** Connects forwarded connections of a client to ports of the pod. */
import type { Duplex } from 'node:stream'
import type { ForwardedConnection, PortForwardClient } from './streams.ts'

export interface RunPortForwardOptions {
  readonly client: PortForwardClient
  readonly connect: (port: number) => Promise<Duplex>
  /** Error message for the client. */
  readonly describeFailure: (port: number, error: Error) => string
}

/** Resolves when the client has disconnected and all connections are closed. Never rejects. */
export async function runPortForward(options: RunPortForwardOptions): Promise<void> {
  const running = new Set<Promise<void>>()
  for await (const connection of options.client.connections) {
    const forwarding = forward(connection, options).finally(() => running.delete(forwarding))
    running.add(forwarding)
  }
  await Promise.all(running)
}

async function forward(
  connection: ForwardedConnection,
  { connect, describeFailure }: RunPortForwardOptions,
): Promise<void> {
  const { port, data } = connection
  let pod: Duplex | undefined
  let isAnswered = false
  try {
    pod = await connect(port)
    const answering = copy(pod, data).then(() => {
      isAnswered = true
    })
    await Promise.all([copy(data, pod), answering])
  } catch (error) {
    // No error for a client that closed the connection itself, or that has received the complete response.
    if (!data.destroyed && !isAnswered) connection.fail(describeFailure(port, error as Error))
  } finally {
    data.destroy()
    pod?.destroy()
  }
}

/** Copies one direction to its end. Rejects if either side closes early. */
async function copy(from: Duplex, to: Duplex): Promise<void> {
  const gone = Promise.withResolvers<never>()
  gone.promise.catch(() => undefined)
  const onClose = (): void => gone.reject(to.errored ?? new Error('the connection was closed'))
  if (to.closed) onClose()
  to.once('close', onClose)
  try {
    const iterator = from.iterator({ destroyOnReturn: false })
    for (;;) {
      const { done, value } = (await Promise.race([
        iterator.next(),
        gone.promise,
      ])) as IteratorResult<Uint8Array>
      if (done) break
      if (!to.write(value))
        await Promise.race([new Promise(resolve => to.once('drain', resolve)), gone.promise])
    }
    const finished = new Promise(resolve => to.once('finish', resolve))
    to.end()
    if (!to.writableFinished) await Promise.race([finished, gone.promise])
  } finally {
    to.off('close', onClose)
  }
}
