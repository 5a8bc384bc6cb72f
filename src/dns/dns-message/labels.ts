/** Labels in text form, with escapes. */
export function splitLabels(name: string): readonly string[] {
  if (name === '') return []
  return name.includes('\\') ? (name.match(/(?:\\.|[^.\\])+/g) ?? []) : name.split('.')
}

/** Decodes a label to bytes. */
export function parseLabel(label: string): Uint8Array {
  if (!label.includes('\\')) return Buffer.from(label, 'latin1')
  const plain = label.replaceAll(/\\(\d{3}|.)/g, (_all, escaped: string) => {
    return escaped.length === 3 ? String.fromCharCode(Number(escaped)) : escaped
  })
  return Buffer.from(plain, 'latin1')
}

/** Encodes a label as text, with escapes where needed. */
export function formatLabel(label: Uint8Array): string {
  let text = ''
  for (const byte of label) {
    if (byte === 0x2e || byte === 0x5c) text += `\\${String.fromCharCode(byte)}`
    else if (byte > 0x20 && byte < 0x7f) text += String.fromCharCode(byte)
    else text += `\\${String(byte).padStart(3, '0')}`
  }
  return text
}
