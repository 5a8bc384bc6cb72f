/**
 * Words that comments, messages and help texts do not use: programs have no people in them, and one reading must be
 * enough. docs/STYLE.md says what to write instead.
 */
import type { Finding } from './finding.ts'
import { lineAt, type SourceFile } from './source-file.ts'

const words = [
  'whoever',
  'whom',
  'himself',
  'nobody',
  'somebody',
  'someone',
  'anybody',
  'everybody',
  'anew',
  'so many',
  'last words',
  'strangers?',
]

/** Where a word is a name or a quotation. */
const exceptions: ReadonlySet<string> = new Set(['src/api/text/uri.ts someone', 'src/base/flags.ts someone'])

/** In tests only comments are checked: names such as the user `nobody` are data there. */
export function checkProse(files: readonly SourceFile[]): Finding[] {
  return files.flatMap(file => {
    const { path, content, code, isTest } = file
    if (!path.startsWith('src/') && !isTest) return []
    return [...content.matchAll(pattern)].flatMap(({ 0: word, index }): Finding[] => {
      const isText = code.charAt(index) === ' '
      const line = lineAt(content, index)
      if (!isText || (isTest && !isComment(file.lines[line - 1] ?? ''))) return []
      if (exceptions.has(`${path} ${word.toLowerCase()}`)) return []
      return [{ path, line, text: `"${word}": say which program, object or user is meant` }]
    })
  })
}

const pattern = new RegExp(`\\b(?:${words.join('|')})\\b`, 'gi')

function isComment(line: string): boolean {
  return /^\s*(?:\/\*\*|\*|\/\/)/.test(line)
}
