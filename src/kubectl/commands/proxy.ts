import { resolve } from 'node:path'
import { openConnection } from '#/client/connection.ts'
import type { HttpTransport } from '#/client/http.ts'
import { forwardExchange } from '#/client/reverse-proxy.ts'
import { untilAborted } from '#/base/abort.ts'
import type { HttpExchange, LocalHttpServer } from '#/platform/http.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { ExitError } from '../errors.ts'
import { boolFlag, durationFlag, intFlag, stringFlag } from '../flag-types.ts'
import { describeListenError, formatAddress } from '../port-forward/listen-addresses.ts'
import { answerText, redirect } from '../proxy/answer.ts'
import { compileFilter, isAccepted, usualPatterns } from '../proxy/request-filter.ts'
import { routeRequest } from '../proxy/route-request.ts'

const usualPort = 8001

const flags = {
  'accept-hosts': stringFlag('Regular expressions, separated by commas, of hosts that requests may be for.', {
    shownDefault: `'${usualPatterns.acceptHosts}'`,
  }),
  'accept-paths': stringFlag('Regular expressions, separated by commas, of paths that are accepted.', {
    shownDefault: `'${usualPatterns.acceptPaths}'`,
  }),
  'address': stringFlag('IP address to listen on.', { shownDefault: `'127.0.0.1'` }),
  'api-prefix': stringFlag('Prefix of the paths of the API.', { shownDefault: `'/'` }),
  'append-server-path': boolFlag(
    "Put the path of the server's URL in the kubeconfig before the path of each request.",
  ),
  'disable-filter': boolFlag(
    'Accept all requests. This is dangerous with a port that others can reach, such as web pages in a browser.',
  ),
  'keepalive': durationFlag('Accepted for compatibility: connections to the server are kept alive.'),
  'port': intFlag('Port to listen on; 0 for a free one, which is printed.', {
    shownDefault: '8001',
    shorthand: 'p',
  }),
  'reject-methods': stringFlag('Regular expressions, separated by commas, of methods that are rejected.', {
    shownDefault: `'${usualPatterns.rejectMethods}'`,
  }),
  'reject-paths': stringFlag(
    'Regular expressions, separated by commas, of paths that are rejected, even if they are accepted.',
    {
      shownDefault: `'${usualPatterns.rejectPaths}'`,
    },
  ),
  'unix-socket': stringFlag('Path of a unix socket to listen on instead of a port.', { shorthand: 'u' }),
  'www': stringFlag('Also serve the files of this folder.', { shorthand: 'w' }),
  'www-prefix': stringFlag('Prefix of the paths of these files.', {
    shownDefault: `'/static/'`,
    shorthand: 'P',
  }),
}

type ProxyInvocation = Invocation<typeof flags>

export const command = defineCommand({
  usage: 'proxy [--port=PORT] [--www=static-dir] [--www-prefix=prefix] [--api-prefix=prefix]',
  description: `Serves the API on this machine, without TLS and with the credentials of the user, until interrupted.

Programs without credentials can then use the API, for example curl. Requests to execute commands in containers, and
those for other hosts than localhost, are rejected by default. Files can be served under another prefix.`,
  examples: `  # Serve the API on a free port, which is printed
  kubectl proxy --port=0

  # Serve the API on port 8011, and the files of a folder
  kubectl proxy --port=8011 --www=./site --www-prefix=/static/

  # Serve the API under a prefix, for "curl localhost:8001/k8s/api/v1/pods"
  kubectl proxy --api-prefix=/k8s/

  # Serve the API only for this user
  kubectl proxy --unix-socket=/tmp/api.sock`,
  flags,
  async run(invocation) {
    const { flags, streams } = invocation
    const handle = await exchangeHandler(invocation)
    if (flags.port !== undefined && flags.port !== usualPort && flags['unix-socket']) {
      throw new Error('cannot set --unix-socket and --port at the same time')
    }
    await warnOfFolder(invocation)
    await using server = await listen(invocation, handle)
    const { address } = server
    streams.write(`Starting to serve on ${'path' in address ? address.path : formatAddress(address)}\n`)
    await untilAborted(streams.interrupted())
    throw new ExitError(130)
  },
})

type Handle = (exchange: HttpExchange) => void

async function exchangeHandler({ flags, factory, streams }: ProxyInvocation): Promise<Handle> {
  const warn = (text: string): void => streams.stderr.write(`${text}\n`)
  const transport = await openTransport({ flags, factory }, warn)
  const prefix = withSlash(flags['www-prefix'] ?? '/static/')
  const prefixes = { api: withSlash(flags['api-prefix'] ?? '/'), files: flags.www ? prefix : undefined }
  if (flags['disable-filter'] && !flags['unix-socket']) {
    warn('Warning: Request filter disabled, your proxy is vulnerable to XSRF attacks, please be cautious')
  }
  const filter = flags['disable-filter'] ? undefined : compileFilter(patternsOf(flags))
  return exchange => {
    const route = routeRequest(exchange.target, prefixes)
    if (route.type === 'redirect') return redirect(exchange, route.location)
    if (route.type === 'not found') return answerText(exchange, 404, '404 page not found')
    if (route.type === 'file')
      return void sendFile(exchange, { factory, folder: flags.www!, path: route.path })
    const { target, path } = route
    const { method, headers } = exchange
    if (filter !== undefined && !isAccepted(filter, { method, path, host: headers['host'] ?? '' })) {
      return answerText(exchange, 403, 'Forbidden')
    }
    void forwardExchange(exchange, {
      transport,
      target,
      onError({ message, hasBegun }) {
        warn(`Error while proxying request: ${message}`)
        if (!hasBegun) answerText(exchange, 500, message)
      },
    })
  }
}

function patternsOf(flags: ProxyInvocation['flags']): Parameters<typeof compileFilter>[0] {
  return {
    acceptPaths: flags['accept-paths'] ?? usualPatterns.acceptPaths,
    rejectPaths: flags['reject-paths'] ?? usualPatterns.rejectPaths,
    acceptHosts: flags['accept-hosts'] ?? usualPatterns.acceptHosts,
    rejectMethods: flags['reject-methods'] ?? usualPatterns.rejectMethods,
  }
}

async function openTransport(
  { flags, factory }: Pick<ProxyInvocation, 'flags' | 'factory'>,
  warn: (text: string) => void,
): Promise<HttpTransport> {
  const settings = await factory.clientConfig()
  const { origin, pathname } = new URL(settings.server)
  if (!flags['append-server-path'] && pathname !== '/') {
    warn(
      `Warning: Your kube context contains a server path ${pathname}, use --append-server-path ` +
        'to automatically append the path to each request',
    )
  }
  const server = flags['append-server-path'] ? settings.server : origin
  const { platform, connectHttp: connect } = factory.machine
  return openConnection({ platform, connect, settings: { ...settings, server } })
}

function withSlash(prefix: string): string {
  return prefix.endsWith('/') ? prefix : `${prefix}/`
}

async function sendFile(
  exchange: HttpExchange,
  {
    factory,
    folder,
    path,
  }: { readonly factory: ProxyInvocation['factory']; readonly folder: string; readonly path: string },
): Promise<void> {
  const { platform, workingFolder } = factory.machine
  const { serveFile } = await import('../proxy/serve-files.ts')
  try {
    await serveFile(exchange, { files: platform.files, folder: resolve(workingFolder, folder), path })
  } catch (error) {
    const isForbidden = (error as { readonly code?: unknown }).code === 'EACCES'
    answerText(exchange, isForbidden ? 403 : 500, isForbidden ? 'Forbidden' : 'Internal Server Error')
  }
}

async function warnOfFolder({ flags: { www }, factory, streams }: ProxyInvocation): Promise<void> {
  if (!www) return
  const { platform, workingFolder } = factory.machine
  const status = await platform.files.stat(resolve(workingFolder, www))
  if (status === undefined) {
    streams.stderr.write(
      `Warning: Failed to stat static file directory ${www}: stat ${www}: no such file or directory\n`,
    )
  } else if (!status.isFolder)
    streams.stderr.write(`Warning: Static file directory ${www} is not a directory\n`)
}

async function listen({ flags, factory }: ProxyInvocation, onExchange: Handle): Promise<LocalHttpServer> {
  const { platform, workingFolder, serveLocalHttp } = factory.machine
  if (flags['unix-socket']) {
    const path = resolve(workingFolder, flags['unix-socket'])
    const status = await platform.files.stat(path)
    // A socket that a killed process has left. Files and folders are kept.
    if (status && !status.isFile && !status.isFolder) await platform.files.remove(path)
    return serveLocalHttp({ address: { path }, onExchange })
  }
  const address = { host: flags.address ?? '127.0.0.1', port: flags.port ?? usualPort }
  try {
    return await serveLocalHttp({ address, onExchange })
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === undefined) throw error
    throw new Error(`listen tcp ${describeListenError(address, error)}`, { cause: error })
  }
}
