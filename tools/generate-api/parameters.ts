/**
 * The query parameters of the package's requests, with their types and documentation. Most are the same
 * everywhere; the options of a subresource (`pods/exec`) and those of a patch are kept separate.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { withLineBreaks } from './with-line-breaks.ts'

export interface Parameter {
  readonly type: 'boolean' | 'integer' | 'string'
  readonly documentation: string
}

/** By name. */
export type Parameters = Readonly<Record<string, Parameter>>

/** Keys are `common`, `patch`, or a subresource with its own options. */
export type ParameterGroups = Readonly<Record<string, Parameters>>

export function readParameters(directory: string): ParameterGroups {
  const groups: Record<string, Record<string, Parameter>> = { common: {} }
  for (const file of readdirSync(directory).filter(each => each.endsWith('Api.js'))) {
    const source = readFileSync(join(directory, file), 'utf8')
    for (const [, comment = '', name = '', body = ''] of source.matchAll(requests)) {
      const path = /localVarPath = '([^']*)'/.exec(body)?.[1]
      // Paths with a group parameter are the package's generic requests for custom resources, with different
      // texts.
      if (path === undefined || path.includes('{group}')) continue
      const group = (groups[groupOf(name, path)] ??= {})
      for (const [parameter, fact] of parametersOf(comment, body)) {
        const known = (group[parameter] ??= fact)
        if (known.documentation !== fact.documentation) {
          throw new Error(`${name} has a ${parameter} of its own`)
        }
      }
    }
  }
  return withoutCommon(groups)
}

const requests = /^ {4}\/\*\*\n((?: {5}\*.*\n)*?) {5}\*\/\n {4}async (\w+)\(.*\) \{\n([^]*?)^ {4}\}/gm

function groupOf(name: string, path: string): string {
  const [, plural = '', subresource = ''] = /\/(\w+)\/\{name\}\/(\w+)/.exec(path) ?? []
  if (name.startsWith('connect') || subresource === 'log') return `${plural}/${subresource}`
  return name.startsWith('patch') ? 'patch' : 'common'
}

const types: Readonly<Record<string, Parameter['type']>> = {
  boolean: 'boolean',
  number: 'integer',
  string: 'string',
}

function parametersOf(comment: string, body: string): readonly (readonly [string, Parameter])[] {
  const texts = new Map([...comment.matchAll(/@param (\w+) (.*)/g)].map(([, name, text]) => [name, text]))
  return [...body.matchAll(/setQueryParam\("(\w+)", \w+\.serialize\((\w+), "(\w+)"/g)].map(
    ([, name = '', variable = '', type = '']) => {
      const known = types[type]
      if (known === undefined) throw new Error(`the parameter ${name} is a ${type}`)
      return [name, { type: known, documentation: unescapeText(texts.get(variable) ?? '') }] as const
    },
  )
}

function withoutCommon({ common = {}, ...others }: ParameterGroups): ParameterGroups {
  const own = Object.entries(others).map(([group, parameters]) => [
    group,
    Object.fromEntries(
      Object.entries(parameters).filter(
        ([name, { documentation }]) => common[name]?.documentation !== documentation,
      ),
    ),
  ])
  const restored = Object.entries(common).map(([name, { type, documentation }]) => [
    name,
    { type, documentation: withLineBreaks(documentation) },
  ])
  // The options of subresources have no line breaks.
  return {
    common: Object.fromEntries(restored) as Parameters,
    ...(Object.fromEntries(own) as ParameterGroups),
  }
}

const entities: Readonly<Record<string, string>> = { quot: '"', amp: '&', lt: '<', gt: '>' }

/** The package's comments are HTML-escaped, with a stray backslash before quotes. */
function unescapeText(text: string): string {
  return text.replaceAll(/\\?&(?:#x([0-9A-F]+)|#(\d+)|(\w+));/g, (_all, hexadecimal, decimal, name) => {
    if (typeof hexadecimal === 'string') return String.fromCodePoint(Number.parseInt(hexadecimal, 16))
    return typeof decimal === 'string'
      ? String.fromCodePoint(Number(decimal))
      : (entities[String(name)] ?? '?')
  })
}
