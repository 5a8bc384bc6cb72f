/** Output of `k8ts why` as text and JSON, without the control characters that names and messages may contain. */
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import type { Diagnosis } from './diagnosis.ts'

/** The sentence, then evidence, then commands. */
export function formatDiagnosis({ summary, evidence, remedies, unread }: Diagnosis): string {
  const sections = [
    [printable(summary)],
    section(
      'Evidence',
      evidence.map(({ source, text }) => `${printable(source)}: ${printable(text)}`),
    ),
    section(
      'What to do',
      remedies.flatMap(({ text, command }) => {
        return command === undefined ? [printable(text)] : [printable(text), `    ${printable(command)}`]
      }),
    ),
    section('Could not be read', unread.map(printable)),
  ]
  return `${sections
    .filter(lines => lines.length > 0)
    .map(lines => lines.join('\n'))
    .join('\n\n')}\n`
}

/** In a JSON document control characters are only in strings, apart from line feeds. */
export function diagnosisJson(diagnosis: Diagnosis): string {
  const text = JSON.stringify(diagnosis, null, 2)
  return `${text.split('\n').map(escapeControlCharacters).join('\n')}\n`
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`${title}:`, ...lines.map(line => `  ${line}`)]
}

const lengthMax = 1_000

/** One line without control characters, also those that change the direction of text. */
function printable(text: string): string {
  const line = text.trim().replaceAll(/[\t\n\r ]+/g, ' ')
  const shown = line.length > lengthMax ? `${line.slice(0, lengthMax)}...` : line
  return escapeControlCharacters(shown)
}
