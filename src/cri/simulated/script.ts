import type { Duplex } from 'node:stream'

/**
 * Behavior of a container. Absent fields follow from its command; if that is not understood, the container
 * runs forever.
 */
export interface ContainerScript {
  /** Duration of container creation. */
  readonly createMs?: number
  readonly createError?: string
  /** Duration of container start. */
  readonly startMs?: number
  /** The start fails: the container exits with reason `StartError` and code 128. */
  readonly startError?: string
  /** Relative to the container's start. */
  readonly exitAfterMs?: number
  readonly exitCode?: number
  /** The exit is reported as `OOMKilled`. */
  readonly isOutOfMemory?: boolean
  readonly logs?: readonly LogScript[]
  /** Files that the container writes before it exits. Only files on mounts from the node are written. */
  readonly files?: Readonly<Record<string, string>>
  /** Time to exit after SIGTERM; `Infinity` requires SIGKILL. */
  readonly stopMs?: number
  readonly stopExitCode?: number
  /** By command line, words joined with spaces; `*` matches all others. */
  readonly execs?: Readonly<Record<string, ExecScript>>
  /** Ports it listens on. If absent, every port accepts connections to the pod IP. */
  readonly ports?: Readonly<Record<number, PortScript>>
  /** HTTP responses by path on all listening ports; `*` matches all other paths. */
  readonly http?: Readonly<Record<string, HttpScript>>
  /** Status of gRPC health checks; 1 is SERVING. */
  readonly grpcHealth?: number
  readonly cpuMillicores?: number
  readonly memoryBytes?: number
  readonly writableLayerBytes?: number
}

export interface LogScript {
  readonly text: string
  readonly stream?: 'stdout' | 'stderr'
  /** Relative to the previous line. */
  readonly afterMs?: number
}

export interface ExecScript {
  readonly exitCode?: number
  readonly stdout?: string
  readonly stderr?: string
  readonly afterMs?: number
  /** The command fails to start. */
  readonly error?: string
}

/** Echoes, sends a fixed answer, or passes the connection to a function. */
export type PortScript = 'echo' | { readonly answer: string } | ((connection: Duplex) => void)

export interface HttpScript {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly afterMs?: number
}

/** Behavior of an image. */
export interface ImageScript {
  readonly pullMs?: number
  /** Error of every pull, or of the first `pullFailures` pulls. */
  readonly pullError?: string
  readonly pullFailures?: number
  /** Credentials required to pull; none if absent. */
  readonly auth?: { readonly username: string; readonly password: string }
  readonly sizeBytes?: number
  readonly uid?: number
  readonly username?: string
  readonly isPinned?: boolean
  /** Present without a pull. */
  readonly isPresent?: boolean
  /** Behavior of containers of this image. */
  readonly container?: ContainerScript
}
