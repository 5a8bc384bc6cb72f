import { decodeProtobuf } from '#/api/protobuf.ts'
import { parseYaml } from '#/api/text/yaml.ts'

export interface Answer {
  /** 0 if the server did not answer. */
  readonly status: number
  /** Names are lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly bytes: Uint8Array
}

/** The body as a value: parsed where its content type is known, otherwise text. The events of a watch are a list. */
export function decodeBody({ headers, bytes }: Answer, { isWatch }: { readonly isWatch: boolean }): unknown {
  const text = Buffer.from(bytes).toString()
  const mediaType = (headers['content-type'] ?? '').split(';')[0]!.trim()
  try {
    if (/^application\/(?:.+\+)?json$/.test(mediaType)) return isWatch ? parseLines(text) : JSON.parse(text)
    if (mediaType === 'application/yaml') return parseYaml(text)
    if (mediaType === 'application/vnd.kubernetes.protobuf') return decodeProtobuf(bytes)
  } catch {
    return text
  }
  return text
}

/** Events are on lines of their own. */
function parseLines(text: string): readonly unknown[] {
  const lines = text.split('\n').filter(line => line !== '')
  return lines.map(line => JSON.parse(line) as unknown)
}
