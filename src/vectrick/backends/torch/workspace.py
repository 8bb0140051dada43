"""Workspace on a torch device that is reused from one product to the next."""

from typing import Any

from vectrick._typing import Tensor, TorchDevice


class TensorSpace:
    """Named buffers that are kept from one product to the next, as tensors on one device."""

    def __init__(self, device: TorchDevice) -> None:
        self.device = device
        self._buffers: dict[tuple[str, Any], Any] = {}

    def get(self, slot: str, shape: tuple[int, ...], like: Tensor, zero: bool = False) -> Any:
        """Return an uninitialized tensor, valid until the next request for the slot; with ``zero`` it begins as zeros.

        Later calls do not clear the buffer, so callers that use ``zero`` must write to the same elements each time.
        """
        key, n_items = (slot, like.dtype), 1
        for length in shape:
            n_items *= length
        buffer = self._buffers.get(key)
        if buffer is None or len(buffer) < n_items:
            self._buffers.pop(key, None)
            make = like.new_zeros if zero else like.new_empty
            buffer = self._buffers[key] = make(n_items)
        return buffer[:n_items].view(shape)
