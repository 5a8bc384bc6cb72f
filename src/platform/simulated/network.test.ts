import assert from 'node:assert/strict'
import test from 'node:test'
import type { DatagramSocket } from '../platform.ts'
import { Simulation, type NetworkFaults } from '../simulated.ts'

const port = 53

test('simulated datagrams arrive once, in order, after a delay', async () => {
  const { simulation, received } = await sendNumbers({ faults: {}, count: 50 })
  assert.deepEqual(
    received,
    Array.from({ length: 50 }, (_, index) => index),
  )
  assert(simulation.nowMs > 0.1)
})

test('simulated datagrams are lost, duplicated and reordered at the configured rates', async () => {
  const lossy = await sendNumbers({ faults: { dropRate: 0.3 }, count: 1_000 })
  assert(Math.abs(lossy.received.length - 700) < 60, `${lossy.received.length} arrived`)
  assert.deepEqual(lossy.received, [...lossy.received].sort(ascending))

  const doubling = await sendNumbers({ faults: { duplicateRate: 0.3 }, count: 1_000 })
  assert(Math.abs(doubling.received.length - 1_300) < 60, `${doubling.received.length} arrived`)
  assert.equal(new Set(doubling.received).size, 1_000)

  const unruly = await sendNumbers({ faults: { reorderRate: 0.1 }, count: 1_000 })
  assert.notDeepEqual(unruly.received, [...unruly.received].sort(ascending))
  assert.deepEqual(
    [...unruly.received].sort(ascending),
    Array.from({ length: 1_000 }, (_, index) => index),
  )
})

test('random faults of one link do not change those of another', async () => {
  const lines = async (chatter: boolean): Promise<string[]> => {
    const simulation = new Simulation({ seed: 5, network: { dropRate: 0.5, duplicateRate: 0.5 } })
    const [a, b, c] = [simulation.host('a'), simulation.host('b'), simulation.host('c')]
    await simulation.run(
      (async () => {
        await b.network.bindDatagram({ host: 'b', port }, () => {})
        const fromA = await a.network.bindDatagram({ host: 'a', port }, () => {})
        const fromC = await c.network.bindDatagram({ host: 'c', port }, () => {})
        for (let message = 0; message < 30; message++) {
          fromA.send(new Uint8Array(1), { host: 'b', port })
          if (chatter) fromC.send(new Uint8Array(1), { host: 'b', port })
        }
      })(),
    )
    await simulation.settle()
    return simulation.trace.filter(line => line.includes('a>b'))
  }
  assert.deepEqual(await lines(true), await lines(false))
})

test('a partition drops datagrams in both directions until it heals, and affects no other host', async () => {
  const simulation = new Simulation({ seed: 1 })
  const received: string[] = []
  const sockets = new Map<string, DatagramSocket>()
  for (const name of ['a', 'b', 'c']) {
    sockets.set(
      name,
      await simulation.host(name).network.bindDatagram({ host: '0.0.0.0', port }, message => {
        received.push(`${Buffer.from(message).toString()}>${name}`)
      }),
    )
  }
  const sendAll = async (): Promise<string[]> => {
    received.length = 0
    for (const [from, socket] of sockets) {
      for (const to of sockets.keys()) socket.send(Buffer.from(from), { host: to, port })
    }
    await simulation.settle()
    return received.toSorted()
  }
  simulation.network.partition(['a'], ['b'])
  assert.deepEqual(await sendAll(), ['a>a', 'a>c', 'b>b', 'b>c', 'c>a', 'c>b', 'c>c'])
  simulation.network.heal()
  assert.equal((await sendAll()).length, 9)
  assert.throws(() => simulation.network.partition(['a'], ['nobody']), /no host nobody/)
})

test("a simulated datagram has the sender's address and its own copy of the bytes", async () => {
  const simulation = new Simulation({ seed: 1, network: { duplicateRate: 1 } })
  const [client, server] = [simulation.host('client'), simulation.host('server')]
  const answers: string[] = []
  const serving = await server.network.bindDatagram({ host: 'server', port }, (message, from) => {
    serving.send(message, from)
    message.fill(0)
  })
  const socket = await client.network.bindDatagram({ host: '0.0.0.0', port: 0 }, (message, from) => {
    answers.push(`${Buffer.from(message).toString()} from ${'host' in from ? from.host : ''}`)
  })
  const message = Buffer.from('hello')
  socket.send(message, { host: server.address, port })
  message.fill(0)
  await simulation.settle()
  assert.deepEqual(
    answers,
    Array.from({ length: 4 }, () => `hello from ${server.address}`),
  )
})

test('datagrams to a closed port, too large ones and those of a closed socket are dropped silently', async () => {
  const simulation = new Simulation({ seed: 1 })
  const [a, b] = [simulation.host('a'), simulation.host('b')]
  const received: number[] = []
  await b.network.bindDatagram({ host: 'b', port }, message => void received.push(message.length))
  const socket = await a.network.bindDatagram({ host: 'a', port: 0 }, () => {})
  socket.send(new Uint8Array(1), { host: 'b', port: 1 })
  socket.send(new Uint8Array(1), { host: 'nowhere', port })
  socket.send(new Uint8Array(65_508), { host: 'b', port })
  socket.send(new Uint8Array(65_507), { host: 'b', port })
  await socket[Symbol.asyncDispose]()
  socket.send(new Uint8Array(2), { host: 'b', port })
  await simulation.settle()
  assert.deepEqual(received, [65_507])
})

test('a simulated link drops datagrams over its capacity', async () => {
  const { received } = await sendNumbers({ faults: {}, count: 10_050 })
  assert.equal(received.length, 10_000)
})

test('a simulated address is bound once, by its own host, and free after release', async () => {
  const simulation = new Simulation({ seed: 1 })
  const [a, b] = [simulation.host('a'), simulation.host('b')]
  const first = await a.network.bindDatagram({ host: '0.0.0.0', port }, () => {})
  await assert.rejects(
    a.network.bindDatagram({ host: 'localhost', port }, () => {}),
    { code: 'EADDRINUSE' },
  )
  await a.network.listen({ host: 'a', port }, () => {})
  await b.network.bindDatagram({ host: 'b', port }, () => {})
  await assert.rejects(
    a.network.bindDatagram({ host: 'b', port: 1 }, () => {}),
    { code: 'EADDRNOTAVAIL' },
  )
  await first[Symbol.asyncDispose]()
  await a.network.bindDatagram({ host: 'localhost', port }, () => {})
  const chosen = await a.network.bindDatagram({ host: 'a', port: 0 }, () => {})
  const other = await a.network.bindDatagram({ host: 'a', port: 0 }, () => {})
  assert.notDeepEqual(chosen.address, other.address)
})

function ascending(left: number, right: number): number {
  return left - right
}

async function sendNumbers(options: { faults: Partial<NetworkFaults>; count: number }) {
  const simulation = new Simulation({ seed: 11, network: options.faults })
  const received: number[] = []
  await simulation.host('b').network.bindDatagram({ host: 'b', port }, message => {
    received.push(Buffer.from(message).readUInt32LE())
  })
  const socket = await simulation.host('a').network.bindDatagram({ host: 'a', port: 0 }, () => {})
  for (let number = 0; number < options.count; number++) {
    const message = Buffer.alloc(4)
    message.writeUInt32LE(number)
    socket.send(message, { host: 'b', port })
  }
  await simulation.settle()
  return { simulation, received }
}
