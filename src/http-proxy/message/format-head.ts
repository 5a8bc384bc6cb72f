/** HTTP/1.1 on the wire: heads and chunks. */
import { unknownLength } from './head.ts'

/** Without the empty line at the end. One byte per character. */
export function formatFields(fields: readonly string[]): string {
  let text = ''
  for (let index = 0; index < fields.length; index += 2) text += `${fields[index]}: ${fields[index + 1]}\r\n`
  return text
}

export function formatStatusLine(status: number): string {
  return statusLines.get(status) ?? `HTTP/1.1 ${status} ${status < 400 ? 'OK' : 'Error'}\r\n`
}

/** The framing of a body with this length; nothing if it ends with the connection. */
export function formatBodyLength(length: number): string {
  if (length >= 0) return `content-length: ${length}\r\n`
  return length === unknownLength ? 'transfer-encoding: chunked\r\n' : ''
}

export function reasonPhrase(status: number): string {
  return reasons[status] ?? (status < 400 ? 'OK' : 'Error')
}

const reasons: Readonly<Record<number, string>> = {
  100: 'Continue',
  101: 'Switching Protocols',
  102: 'Processing',
  103: 'Early Hints',
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  203: 'Non-Authoritative Information',
  204: 'No Content',
  205: 'Reset Content',
  206: 'Partial Content',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'Precondition Failed',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  417: 'Expectation Failed',
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
}

const statusLines: ReadonlyMap<number, string> = new Map(
  Object.entries(reasons).map(([status, reason]) => [Number(status), `HTTP/1.1 ${status} ${reason}\r\n`]),
)
