import type { HTTPGetAction, Probe } from '#/api/generated/core/v1.ts'
import { formatGoValue } from '#/api/text/quote.ts'

/** `http-get http://:8080/healthz delay=0s timeout=1s period=10s #success=1 #failure=3`. */
export function probeText(probe: Probe | undefined): string | undefined {
  if (!probe) return undefined
  const { initialDelaySeconds = 0, timeoutSeconds = 0, periodSeconds = 0 } = probe
  const { successThreshold = 0, failureThreshold = 0 } = probe
  const times = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s`
  return `${actionText(probe)} ${times} #success=${successThreshold} #failure=${failureThreshold}`
}

function actionText({ exec, httpGet, tcpSocket, grpc }: Probe): string {
  if (exec) return `exec ${formatGoValue(exec.command ?? [])}`
  if (httpGet) return `http-get ${urlOf(httpGet)}`
  if (tcpSocket) return `tcp-socket ${tcpSocket.host ?? ''}:${tcpSocket.port}`
  if (grpc) return `grpc <pod>:${grpc.port} ${grpc.service ?? ''}`
  return 'unknown'
}

function urlOf({ scheme = '', host = '', port, path = '' }: HTTPGetAction): string {
  const prefix = scheme === '' ? '' : `${scheme.toLowerCase()}:`
  const escaped = path === '*' ? path : escapePath(path)
  const slash = escaped === '' || escaped.startsWith('/') ? '' : '/'
  return `${prefix}//${joinHostPort(host, port)}${slash}${escaped}`
}

/** An IPv6 address gets brackets. */
export function joinHostPort(host: string, port: number | string): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Percent-encodes what cannot be in the path of a URL. */
function escapePath(path: string): string {
  return path.replace(/[^A-Za-z0-9\-_.~$&+,/:;=@]+/g, text => {
    const bytes = [...Buffer.from(text)]
    return bytes.map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('')
  })
}
