/** The part of etcd's API that the operator uses, over its JSON gateway. */
import type { connectHttp } from 'k8ts/platform'

export interface EtcdClient {
  /** As of a linearizable read: rejects without quorum. */
  members(call: EtcdCall): Promise<readonly EtcdMember[]>
  /** Adds a member that does not vote yet. Returns all members. */
  addLearner(call: EtcdCall, peerUrl: string): Promise<readonly EtcdMember[]>
  /** Rejects while the learner is not in sync with the leader. */
  promote(call: EtcdCall, id: string): Promise<void>
  remove(call: EtcdCall, id: string): Promise<void>
}

export interface EtcdCall {
  /** `http://10.0.0.7:2379`. */
  readonly endpoint: string
  readonly signal: AbortSignal
}

export interface EtcdMember {
  readonly id: string
  readonly peerUrl: string
  readonly isLearner: boolean
}

/** An answer of etcd; other errors are failures of the connection. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError'
}

/** The member answers, but a learner cannot read or list the members. */
export function isFromLearner(error: unknown): boolean {
  return error instanceof EtcdError && error.message.includes('rpc not supported for learner')
}

export function isLearnerNotReady(error: unknown): boolean {
  return error instanceof EtcdError && error.message.includes('learner member which is in sync with leader')
}

export function httpEtcdClient(connect: typeof connectHttp): EtcdClient {
  const post = async <T>({ endpoint, signal }: EtcdCall, path: string, body: object): Promise<T> => {
    await using http = connect({ origin: endpoint, protocol: 'http1' })
    const request = { method: 'POST', path, body: Buffer.from(JSON.stringify(body)), signal }
    const response = await http.request(request)
    const pieces: Uint8Array[] = []
    for await (const piece of response.body) pieces.push(piece)
    const text = Buffer.concat(pieces).toString()
    if (response.status === 200) return JSON.parse(text) as T
    throw new EtcdError(`${path} failed with ${response.status}: ${text}`)
  }
  return {
    members: async call => {
      // Member lists of etcd 3.4 are not linearizable. After this read, the member has applied all changes.
      await post(call, '/v3/kv/range', { key: Buffer.from('health').toString('base64') })
      return membersIn(await post<Members>(call, '/v3/cluster/member/list', {}))
    },
    addLearner: async (call, peerUrl) => {
      const body = { peerURLs: [peerUrl], isLearner: true }
      return membersIn(await post<Members>(call, '/v3/cluster/member/add', body))
    },
    promote: (call, id) => post(call, '/v3/cluster/member/promote', { ID: id }),
    remove: (call, id) => post(call, '/v3/cluster/member/remove', { ID: id }),
  }
}

interface Members {
  readonly members?: readonly {
    readonly ID: string
    readonly peerURLs?: readonly string[]
    readonly isLearner?: boolean
  }[]
}

function membersIn({ members = [] }: Members): readonly EtcdMember[] {
  return members.map(({ ID, peerURLs, isLearner = false }) => {
    return { id: ID, peerUrl: peerURLs?.[0] ?? '', isLearner }
  })
}
