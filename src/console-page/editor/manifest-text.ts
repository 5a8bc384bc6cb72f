/**
 * Changes of the text of a manifest that keep the rest as it is. They rely on the block style in which API servers
 * print YAML; a text in another style is returned unchanged.
 */

/** Without `metadata.managedFields`, which users do not edit. The server keeps its own if they are absent. */
export function withoutManagedFields(text: string): string {
  const lines = text.split('\n')
  const start = memberOfMetadata(lines, 'managedFields')
  if (start === undefined) return text
  let end = start + 1
  while (end < lines.length && /^ {2}(?:- | |-$)/.test(lines[end] ?? '')) end++
  return [...lines.slice(0, start), ...lines.slice(end)].join('\n')
}

/** With another `metadata.resourceVersion`; undefined if the text has none. */
export function withResourceVersion(text: string, resourceVersion: string): string | undefined {
  const lines = text.split('\n')
  const at = memberOfMetadata(lines, 'resourceVersion')
  if (at === undefined) return undefined
  return lines.with(at, `  resourceVersion: "${resourceVersion}"`).join('\n')
}

/** Index of the line with a member of the metadata, indented by two spaces. */
function memberOfMetadata(lines: readonly string[], name: string): number | undefined {
  let at = lines.findIndex(line => /^metadata:\s*$/.test(line))
  if (at === -1) return undefined
  for (at += 1; at < lines.length && /^(?: |$)/.test(lines[at] ?? ''); at++) {
    if (lines[at]?.startsWith(`  ${name}:`)) return at
  }
  return undefined
}
