import type { Finding } from './finding.ts'
import { lineAt, type SourceFile } from './source-file.ts'

/** More parameters than this are members of an options object. */
const parametersMax = 3

/** Functions whose order of parameters is well known, or given by an interface that is not ours. */
const exceptions: ReadonlySet<string> = new Set([
  // The order of a signature: name, parameters, result.
  'src/cel/function.ts globalFunction',
  'src/cel/function.ts method',
  // The function `replace` of CEL.
  'src/cel/standard/strings.ts replace',
  // As in client-go: resource, object, patch or value, options.
  'src/client/client.ts patch',
  'src/client/client.ts createSubresource',
  'src/client/client.ts updateSubresource',
  'src/client/pass-client.ts patch',
  'src/client/pass-client.ts createSubresource',
  'src/client/pass-client.ts updateSubresource',
  'src/client/request/rest-client.ts patch',
  'src/client/request/rest-client.ts createSubresource',
  'src/client/request/rest-client.ts updateSubresource',
  'src/controllers/controller/recording-client.ts ',
  // A listener of node:http2.
  'src/platform/node/http.ts ',
])

export function checkParameters(files: readonly SourceFile[]): Finding[] {
  return files
    .filter(({ path, isTest }) => path.startsWith('src/') && !isTest)
    .flatMap(file => longLists(file))
}

function longLists({ path, code, content }: SourceFile): Finding[] {
  const findings: Finding[] = []
  for (const { 0: head, index } of code.matchAll(parameterList)) {
    const open = index + head.length - 1
    const close = matchingBracket(code, open)
    if (close === undefined || !/^(?::|\s*=>|\s*\{)/.test(code.slice(close + 1, close + 10))) continue
    const name = head.slice(0, -1).replace(/<.*/s, '')
    if (statements.has(name) || exceptions.has(`${path} ${name}`)) continue
    const count = countItems(code.slice(open + 1, close))
    if (count <= parametersMax) continue
    findings.push({ path, line: lineAt(content, index), text: `${count} parameters: use an options object` })
  }
  return findings
}

/** An opening parenthesis, with the name before it if there is one. */
const parameterList = /#?\w*(?:<[^<>()]*(?:<[^<>()]*>[^<>()]*)*>)?\(/g

const statements: ReadonlySet<string> = new Set(['if', 'for', 'while', 'switch', 'catch'])

function matchingBracket(code: string, open: number): number | undefined {
  let depth = 0
  for (let at = open; at < code.length; at++) {
    const character = code[at]
    if (character === '(' || character === '[' || character === '{') depth += 1
    if (character === ')' || character === ']' || character === '}') depth -= 1
    if (depth === 0) return at
  }
  return undefined
}

/** Items of a list that is separated by commas outside of brackets; type arguments are brackets, too. */
function countItems(list: string): number {
  let depth = 0
  let count = 0
  let isEmpty = true
  for (let at = 0; at < list.length; at++) {
    const character = list.charAt(at)
    const isArrow = character === '>' && list[at - 1] === '='
    if ('([{<'.includes(character)) depth += 1
    if (')]}>'.includes(character) && !isArrow) depth -= 1
    if (character === ',' && depth === 0) {
      isEmpty = true
    } else if (isEmpty && /\S/.test(character)) {
      isEmpty = false
      count += 1
    }
  }
  return count
}
