import type { ComponentChildren, JSX } from 'preact'

export interface FieldsProps {
  /** Name and content; entries without content are left out. */
  readonly fields: readonly (readonly [name: string, content: ComponentChildren])[]
}

/** Names with values below each other. */
export function Fields({ fields }: FieldsProps): JSX.Element {
  const shown = fields.filter(([, content]) => content !== undefined && content !== '' && content !== null)
  return (
    <dl class="fields">
      {shown.map(([name, content]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{content}</dd>
        </div>
      ))}
    </dl>
  )
}

export interface CardProps {
  readonly title: string
  /** Takes the whole width of the page. */
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

/** A titled part of a page. */
export function Card({ title, isWide = false, children }: CardProps): JSX.Element {
  return (
    <section class={isWide ? 'card is-wide' : 'card'} aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
