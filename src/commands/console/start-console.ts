import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { serveConsole, type ConsoleServer } from '#/console/console-server.ts'
import { isOutputFile, processId, programPaths, type Platform } from '#/platform/node.ts'
import { serveLocalHttp } from '#/platform/short-lived.ts'
import type { ConsoleClusterChoice } from '../console-cluster.ts'
import { readConsoleRecord, writeConsoleRecord } from './console-record.ts'

export interface StartConsoleOptions extends ConsoleClusterChoice {
  /** 0 selects a free one. */
  readonly port: number
}

/** Rejects if the port is in use. */
export async function startConsole(platform: Platform, options: StartConsoleOptions): Promise<ConsoleServer> {
  const { port } = options
  try {
    return await serveConsole({
      platform,
      serve: serveLocalHttp,
      port,
      preparePage: pageFolder(platform),
      async connect() {
        const { connectConsoleCluster } = await import('../console-cluster.ts')
        return connectConsoleCluster(platform, options)
      },
    })
  } catch (cause) {
    if ((cause as { readonly code?: unknown }).code !== 'EADDRINUSE') throw cause
    throw new PortInUseError(`port ${port} of the console is in use: choose another`, { cause })
  }
}

class PortInUseError extends Error {}

/** Between two checks of the sources. */
const checkAgainMs = 1_000

/**
 * The folder of the bundled page. In a checkout, it is bundled again when a source has changed; the npm package
 * contains it.
 */
function pageFolder(platform: Platform): () => Promise<string> {
  const { node, root } = programPaths()
  if (!import.meta.url.endsWith('.ts')) return async () => join(root, 'dist/console-page')
  const { clock, log } = platform
  let checkedMs = -Infinity
  let bundled: Promise<unknown> | undefined
  /** The failure that was logged last, until a bundle succeeds. */
  let reported: string | undefined
  return async () => {
    if (clock.monotonicMs() - checkedMs >= checkAgainMs) {
      checkedMs = clock.monotonicMs()
      bundled = bundlePage(platform, [node, join(root, 'tools/bundle-console.ts')]).then(
        () => (reported = undefined),
        (error: unknown) => {
          // A load of the page asks for many files, and each of them for the bundle.
          if (String(error) !== reported) log.warn('Failed to bundle the page of the console', { error })
          reported = String(error)
        },
      )
    }
    await bundled
    return join(root, '.cache/console')
  }
}

async function bundlePage({ processes }: Platform, command: readonly string[]): Promise<void> {
  const bundler = await processes.start(command)
  bundler.stdin.end()
  bundler.stdout.resume()
  const [complaints, exit] = await Promise.all([text(bundler.stderr), bundler.exited])
  if (!('code' in exit) || exit.code !== 0) throw new Error(complaints.trim())
}

export interface ClusterConsoleOptions {
  readonly folder: string
  readonly kubeconfig: string
  /** Absent: that of the last time if it is free, otherwise any. */
  readonly port?: number | undefined
}

export interface ClusterConsole extends AsyncDisposable {
  /** Called when the cluster holds its data folder. Returns the line about the console, unless the output is a log. */
  announce(): Promise<string | undefined>
}

/** Serves the console of a cluster that this process runs. */
export async function startClusterConsole(
  platform: Platform,
  { folder, kubeconfig, port }: ClusterConsoleOptions,
): Promise<ClusterConsole> {
  const last = await readConsoleRecord(platform, folder)
  const server = await startConsole(platform, { kubeconfig, port: port ?? last?.port ?? 0 }).catch(
    (error: unknown) => {
      if (port !== undefined || !(error instanceof PortInUseError)) throw error
      return startConsole(platform, { kubeconfig, port: 0 })
    },
  )
  return {
    async announce() {
      await writeConsoleRecord(platform, folder, {
        port: server.port,
        pid: processId(),
        linkKey: server.linkKey,
      })
      // A log keeps no tokens: `k8ts up --detach` and `k8ts console` ask for a link.
      return isOutputFile() ? undefined : `console: ${server.newLink()}`
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
