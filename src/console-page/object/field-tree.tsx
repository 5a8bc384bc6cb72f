import type { JSX } from 'preact'

const depthMax = 12
const entriesMax = 200
const textMax = 2_000

/** All fields of a value, nested ones folded. */
export function FieldTree({
  value,
  depth = 0,
}: {
  readonly value: unknown
  readonly depth?: number
}): JSX.Element {
  if (typeof value !== 'object' || value === null) return <FieldValue value={value} />
  const entries = Object.entries(value)
  if (entries.length === 0) return <span class="detail">{Array.isArray(value) ? '[]' : '{}'}</span>
  if (depth >= depthMax) return <span class="detail">see the YAML</span>
  return (
    <ul class="field-tree">
      {entries.slice(0, entriesMax).map(([name, each]) => (
        <li key={name}>
          {isNested(each) ? (
            <details open={depth < 2}>
              <summary>{name}</summary>
              <FieldTree value={each} depth={depth + 1} />
            </details>
          ) : (
            <>
              <span class="field-name">{name}</span> <FieldTree value={each} depth={depth + 1} />
            </>
          )}
        </li>
      ))}
      {entries.length > entriesMax ? <li class="detail">and {entries.length - entriesMax} more</li> : null}
    </ul>
  )
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function FieldValue({ value }: { readonly value: unknown }): JSX.Element {
  const text = String(value)
  return <span class="field-value">{text.length > textMax ? `${text.slice(0, textMax)}...` : text}</span>
}
