import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import type { JsonValue } from '#/api/text/json-value.ts'

/** Control characters of foreign values are escaped, which changes no value. */
export async function formatOutput(value: object, output: 'json' | 'yaml'): Promise<string> {
  if (output === 'yaml') {
    const { stringifyYaml } = await import('#/api/text/stringify-yaml.ts')
    return stringifyYaml(value as { [key: string]: JsonValue })
  }
  const printInteger = (_key: string, each: unknown): unknown =>
    typeof each === 'bigint' ? JSON.rawJSON(`${each}`) : each
  const lines = JSON.stringify(value, printInteger, 2).split('\n')
  return `${lines.map(escapeControlCharacters).join('\n')}\n`
}
