import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

export interface ModalProps {
  readonly label: string
  readonly class?: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** A modal dialog. It is closed with Escape and by a click beside it, and gives the focus back. */
export function Modal({ label, class: name = '', onClose, children }: ModalProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])
  const closeOutside = (event: MouseEvent): void => {
    if (event.target === dialog.current) onClose()
  }
  return (
    <dialog
      ref={dialog}
      class={`modal ${name}`}
      aria-label={label}
      onClick={closeOutside}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
    >
      <div class="modal-content">{children}</div>
    </dialog>
  )
}
