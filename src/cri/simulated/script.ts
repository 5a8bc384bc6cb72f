import type { Duplex } from 'node:stream'

/** What a container does. What is absent is read off its command, and where that says nothing, it runs for ever. */
export interface ContainerScript {
  /** How long it takes to make it. */
  readonly createMs?: number
  readonly createError?: string
  /** How long it takes to start it. */
  readonly startMs?: number
  /** It cannot be started: the container ends as `StartError` with code 128. */
  readonly startError?: string
  /** From its start. */
  readonly exitAfterMs?: number
  readonly exitCode?: number
  /** It ends because it took too much memory. */
  readonly isOutOfMemory?: boolean
  readonly logs?: readonly LogScript[]
  /** Files of the container that it writes before it ends, as far as they are mounted from the node. */
  readonly files?: Readonly<Record<string, string>>
  /** How long it takes to end when it is told to; `Infinity` for one that must be killed. */
  readonly stopMs?: number
  readonly stopExitCode?: number
  /** By the command, its words joined with blanks; `*` is for all that are not named. */
  readonly execs?: Readonly<Record<string, ExecScript>>
  /** Where it listens. Of one of which nothing is said every port answers those who come by the network. */
  readonly ports?: Readonly<Record<number, PortScript>>
  /** By path: what it answers to requests on any port where it listens; `*` is for all paths that are not named. */
  readonly http?: Readonly<Record<string, HttpScript>>
  /** What it says of itself to gRPC: 1 is well. */
  readonly grpcHealth?: number
  readonly cpuMillicores?: number
  readonly memoryBytes?: number
}

export interface LogScript {
  readonly text: string
  readonly stream?: 'stdout' | 'stderr'
  /** After the line before it. */
  readonly afterMs?: number
}

export interface ExecScript {
  readonly exitCode?: number
  readonly stdout?: string
  readonly stderr?: string
  readonly afterMs?: number
  /** It cannot be started. */
  readonly error?: string
}

/** Whoever connects hears himself, or an answer whatever he says, or the other end of the connection is given. */
export type PortScript = 'echo' | { readonly answer: string } | ((connection: Duplex) => void)

export interface HttpScript {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly afterMs?: number
}

/** How an image comes about. */
export interface ImageScript {
  readonly pullMs?: number
  /** Every pull fails with this, or the first ones. */
  readonly pullError?: string
  readonly pullFailures?: number
  /** Who may pull it; everybody when absent. */
  readonly auth?: { readonly username: string; readonly password: string }
  readonly sizeBytes?: number
  readonly uid?: number
  readonly username?: string
  readonly isPinned?: boolean
  /** It is there from the beginning. */
  readonly isPresent?: boolean
  /** What its containers do. */
  readonly container?: ContainerScript
}
