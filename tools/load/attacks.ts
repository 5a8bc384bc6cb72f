/** What hostile or careless clients do. Each attack takes some seconds at full scale. */
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from '../../bench/api/load.ts'
import { Session, type Answer, type Request } from './session.ts'

export interface Attack {
  readonly about: string
  /** Heap of the server. */
  readonly heapMb?: number
  /** Creates what the attack needs, before the other client is measured. */
  readonly prepare?: (target: Target, scale: number) => Promise<void>
  /** Resolves with what the attacker saw. */
  readonly run: (target: Target, scale: number) => Promise<string>
  /** Deletes what was created, which other clients must not notice, either. */
  readonly cleanUp?: (target: Target) => Promise<unknown>
}

const configMaps = '/api/v1/namespaces/default/configmaps'
const pods = '/api/v1/namespaces/default/pods?dryRun=All'

export const attacks: Readonly<Record<string, Attack>> = {
  'connections': {
    about: '10,000 TCP connections without TLS',
    run: async ({ port }, scale) => {
      const sockets = []
      for (let count = 0; count < 10_000 * scale; count++) {
        sockets.push(connect(port, '127.0.0.1').on('error', () => undefined))
        if (count % 200 === 0) await sleep(5)
      }
      await sleep(5_000)
      const open = sockets.filter(({ destroyed }) => !destroyed).length
      for (const socket of sockets) socket.destroy()
      return `${open} of ${sockets.length} connections left`
    },
  },
  'lists': {
    about: '30 clients list 50,000 ConfigMaps with a label selector that matches all',
    prepare: (target, scale) => createConfigMaps(target, 50_000 * scale),
    run: target => list(target, { path: `${configMaps}?labelSelector=load` }),
    cleanUp: deleteConfigMaps,
  },
  'yaml-lists': {
    about: '30 clients list 50,000 ConfigMaps as YAML',
    prepare: (target, scale) => createConfigMaps(target, 50_000 * scale),
    run: target => list(target, { path: configMaps, accept: 'application/yaml' }),
    cleanUp: deleteConfigMaps,
  },
  'large-objects': {
    about: 'ConfigMaps of a megabyte, twice as many as the heap of 600 MB holds',
    heapMb: 600,
    run: (target, scale) => {
      const data = { text: 'x'.repeat(1_000_000) }
      return repeat(target, { count: 1_200 * scale, clients: 16 }, (session, number) => {
        const body = JSON.stringify({ metadata: { name: `large-${number}` }, data })
        return session.ask({ method: 'POST', path: configMaps, body })
      })
    },
    cleanUp: deleteConfigMaps,
  },
  'large-requests': {
    about: '20 clients create pods of 3 MiB with 30,000 variables, as a dry run',
    run: (target, scale) => {
      const value = 'a value, which makes the request as large as it may be'
      const env = Array.from({ length: 30_000 }, (_, number) => ({ name: `VARIABLE_${number}`, value }))
      const spec = { containers: [{ name: 'a', image: 'a', env }] }
      const body = JSON.stringify({ metadata: { name: 'large' }, spec })
      return repeat(target, { count: 100 * scale, clients: 20 }, session => {
        return session.ask({ method: 'POST', path: pods, body })
      })
    },
  },
  'anonymous': {
    about: '64 clients that are not authenticated read secrets',
    run: ({ port, ca }, scale) => {
      return repeat({ port, ca }, { count: 60_000 * scale, clients: 64 }, session => {
        return session.ask({ path: '/api/v1/secrets' })
      })
    },
  },
}

async function createConfigMaps(target: Target, count: number): Promise<void> {
  const data = { text: 'x'.repeat(300) }
  await repeat(target, { count, clients: 32 }, (session, number) => {
    const metadata = { name: `load-${number}`, labels: { load: 'yes', shard: String(number % 1_000) } }
    return session.ask({ method: 'POST', path: configMaps, body: JSON.stringify({ metadata, data }) })
  })
}

function deleteConfigMaps(target: Target): Promise<string> {
  return repeat(target, { count: 1, clients: 1 }, session => {
    return session.ask({ method: 'DELETE', path: configMaps })
  })
}

function list(target: Target, request: Request): Promise<string> {
  return repeat(target, { count: 30, clients: 30 }, session => session.ask(request))
}

interface Repetition {
  readonly count: number
  readonly clients: number
}

async function repeat(
  target: Target,
  { count, clients }: Repetition,
  send: (session: Session, number: number) => Promise<Answer>,
): Promise<string> {
  const statuses = new Map<string, number>()
  let next = 0
  const work = async (): Promise<void> => {
    using session = new Session(target)
    while (next < count) {
      const { status } = await send(session, next++)
      const name = status === 0 ? 'cut' : String(status)
      statuses.set(name, (statuses.get(name) ?? 0) + 1)
      // As clients do after 429.
      if (status === 429) await sleep(200)
    }
  }
  await Promise.all(Array.from({ length: clients }, work))
  return [...statuses].map(([name, times]) => `${name}: ${times}`).join(', ')
}
